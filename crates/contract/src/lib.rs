//! Checks that every engine's sessions must pass, on a real system.
//!
//! The checks are written once, generic over the engines' traits. [`systems`] defines what a system under check
//! provides; each engine implements it in its folder. Each check uses a table of its own and drops it. A failed check
//! reports what it saw, and a check that doesn't apply to a system reports why. Checks never panic, because users run
//! them on their own servers.

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

/// Fails the check unless the condition holds.
#[macro_export]
macro_rules! ensure {
    ($holds:expr) => {
        if !$holds {
            return Err($crate::violated(stringify!($holds), ""));
        }
    };
    ($holds:expr, $($seen:tt)+) => {
        if !$holds {
            return Err($crate::violated(stringify!($holds), &format!($($seen)+)));
        }
    };
}

/// Fails the check unless two values are equal.
#[macro_export]
macro_rules! same {
    ($seen:expr, $expected:expr) => {
        $crate::same!($seen, $expected, "")
    };
    ($seen:expr, $expected:expr, $($place:tt)+) => {
        match (&$seen, &$expected) {
            (seen, expected) if *seen == *expected => {}
            (seen, expected) => {
                return Err($crate::mismatch(stringify!($seen), &format!($($place)+), &expected, &seen));
            }
        }
    };
}

/// Longer values are truncated in messages.
const LONGEST: usize = 300;

fn short(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The problem that [`ensure`] returns.
pub fn violated(what: &str, seen: &str) -> Problem {
    let seen = if seen.is_empty() {
        String::new()
    } else {
        format!("; got: {}", short(seen))
    };
    Problem::Failed(format!("expected: {what}{seen}"))
}

/// The problem that [`same`] returns.
pub fn mismatch(what: &str, place: &str, expected: &dyn Debug, seen: &dyn Debug) -> Problem {
    let place = if place.is_empty() {
        String::new()
    } else {
        format!(" ({place})")
    };
    let (expected, seen) = (short(&format!("{expected:?}")), short(&format!("{seen:?}")));
    Problem::Failed(format!("{what}{place}: expected {expected}, got {seen}"))
}

/// An operation that must fail.
pub trait Fails {
    /// Returns the failure. Success is a problem.
    fn failure(self) -> Result<Failure, Problem>;
}

impl<T> Fails for Result<T, Failure> {
    fn failure(self) -> Result<Failure, Problem> {
        match self {
            Ok(_) => Err(Problem::Failed("it succeeded, but must be refused".into())),
            Err(failure) => Ok(failure),
        }
    }
}

/// A check for a type of system.
pub struct Check<S> {
    /// What it checks.
    pub name: &'static str,
    /// Runs it.
    pub run: fn(&S) -> Outcome,
}

/// Lists the named functions as checks: from a module of this suite, or from the caller's scope.
#[macro_export]
macro_rules! checks {
    ($module:ident: $($name:ident),+ $(,)?) => {
        vec![$($crate::Check { name: stringify!($name), run: $crate::$module::$name }),+]
    };
    ($($name:ident),+ $(,)?) => {
        vec![$($crate::Check { name: stringify!($name), run: $name }),+]
    };
}

/// Runs all checks on a system and reports each result. `make` creates the system for a check from the check's number.
pub fn carry_out<S: System>(make: impl Fn(u32) -> Result<S, Problem>, tell: &mut dyn FnMut(&str, &Outcome)) {
    for (number, check) in (0..).zip(S::checks()) {
        let outcome = make(number).and_then(|system| {
            let outcome = (check.run)(&system);
            // Report a failed cleanup only if the check itself passed.
            let cleaned = system.clean();
            outcome?;
            cleaned.map_err(|failure| Problem::Failed(format!("its table could not be dropped: {failure}")))
        });
        tell(check.name, &outcome);
    }
}
