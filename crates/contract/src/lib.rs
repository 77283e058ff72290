//! What every engine's sessions must do, on the real system.
//!
//! The checks are written once, over the engines' traits; [`systems`] says what a system is, and each engine has one in its
//! folder.
//! Each check works on a table of its own, which is removed. A check that does not hold says what was seen; one that
//! cannot be made on a system says why. Nothing here panics: a user runs it on a server of theirs.

pub mod bulk;
pub mod client;
pub mod server;
pub mod servers;
pub mod statements;
pub mod systems;

use dbdyno_engine::Failure;
pub use dbdyno_engine::driver::{Outcome, Problem};
use std::fmt::Debug;
use systems::System;

/// Ends a check that does not hold.
#[macro_export]
macro_rules! ensure {
    ($holds:expr) => {
        if !$holds {
            return Err($crate::untrue(stringify!($holds), ""));
        }
    };
    ($holds:expr, $($seen:tt)+) => {
        if !$holds {
            return Err($crate::untrue(stringify!($holds), &format!($($seen)+)));
        }
    };
}

/// Ends a check in which something is not what was expected.
#[macro_export]
macro_rules! same {
    ($seen:expr, $expected:expr) => {
        $crate::same!($seen, $expected, "")
    };
    ($seen:expr, $expected:expr, $($place:tt)+) => {
        match (&$seen, &$expected) {
            (seen, expected) if *seen == *expected => {}
            (seen, expected) => {
                return Err($crate::differs(stringify!($seen), &format!($($place)+), &expected, &seen));
            }
        }
    };
}

/// What has no end is cut off in messages.
const LONGEST: usize = 300;

fn short(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// What [`ensure`] says.
pub fn untrue(what: &str, seen: &str) -> Problem {
    let seen = if seen.is_empty() {
        String::new()
    } else {
        format!("; seen: {}", short(seen))
    };
    Problem::Failed(format!("expected: {what}{seen}"))
}

/// What [`same`] says.
pub fn differs(what: &str, place: &str, expected: &dyn Debug, seen: &dyn Debug) -> Problem {
    let place = if place.is_empty() {
        String::new()
    } else {
        format!(" ({place})")
    };
    let (expected, seen) = (short(&format!("{expected:?}")), short(&format!("{seen:?}")));
    Problem::Failed(format!("{what}{place}: expected {expected}, seen {seen}"))
}

/// What must fail.
pub trait Fails {
    /// Its failure; that there is none ends the check.
    fn failure(self) -> Result<Failure, Problem>;
}

impl<T> Fails for Result<T, Failure> {
    fn failure(self) -> Result<Failure, Problem> {
        match self {
            Ok(_) => Err(Problem::Failed("it was done, and must be refused".into())),
            Err(failure) => Ok(failure),
        }
    }
}

/// A check of a kind of system.
pub struct Check<S> {
    /// What it checks.
    pub name: &'static str,
    /// Makes it.
    pub run: fn(&S) -> Outcome,
}

/// The checks that functions make: those of a module of the suite, or of where it stands.
#[macro_export]
macro_rules! checks {
    ($module:ident: $($name:ident),+ $(,)?) => {
        vec![$($crate::Check { name: stringify!($name), run: $crate::$module::$name }),+]
    };
    ($($name:ident),+ $(,)?) => {
        vec![$($crate::Check { name: stringify!($name), run: $name }),+]
    };
}

/// Makes all checks on a system, and tells of each as it ends. `make` makes the system of a check, by the check's number.
pub fn carry_out<S: System>(make: impl Fn(u32) -> Result<S, Problem>, tell: &mut dyn FnMut(&str, &Outcome)) {
    for (number, check) in (0..).zip(S::checks()) {
        let outcome = make(number).and_then(|system| {
            let outcome = (check.run)(&system);
            // What a check has left behind is told where nothing worse is.
            let cleaned = system.clean();
            outcome?;
            cleaned.map_err(|failure| Problem::Failed(format!("its table stays: {failure}")))
        });
        tell(check.name, &outcome);
    }
}
