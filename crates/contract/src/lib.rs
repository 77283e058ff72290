//! What every engine's sessions must do, on the real system.
//!
//! The checks are written once, over the engines' traits; `systems` says what a system is, and has one for each engine.
//! Each check works on a table of its own, which is removed. A check that does not hold says what was seen; one that
//! cannot be made on a system says why. Nothing here panics: a user runs it on a server of theirs.

mod bulk;
mod client;
mod servers;
mod statements;
mod systems;

use dbdyno_engines::Failure;
use dbdyno_plan::target::Target;
use std::fmt::Debug;
use systems::{Mongodb, Mysql, Postgresql, Sqlite, Sqlserver, System};

/// Why a check gave no yes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// It does not hold: what was expected, and what was seen.
    Failed(String),
    /// It cannot be made on this system: why.
    NotApplicable(String),
}

/// How a check ended.
pub type Outcome = Result<(), Problem>;

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        Self::Failed(format!("it failed ({:?}): {failure}", failure.kind))
    }
}

impl From<serde_json::Error> for Problem {
    fn from(error: serde_json::Error) -> Self {
        Self::Failed(format!("a plan of the check's own is wrong: {error}"))
    }
}

impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Ends a check that does not hold.
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
macro_rules! same {
    ($seen:expr, $expected:expr) => {
        same!($seen, $expected, "")
    };
    ($seen:expr, $expected:expr, $($place:tt)+) => {
        match (&$seen, &$expected) {
            (seen, expected) if *seen == *expected => {}
            (seen, expected) => {
                return Err($crate::unlike(stringify!($seen), &format!($($place)+), &expected, &seen));
            }
        }
    };
}

use {ensure, same};

/// What has no end is cut off in messages.
const LONGEST: usize = 300;

fn short(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn untrue(what: &str, seen: &str) -> Problem {
    let seen = if seen.is_empty() {
        String::new()
    } else {
        format!("; seen: {}", short(seen))
    };
    Problem::Failed(format!("expected: {what}{seen}"))
}

fn unlike(what: &str, place: &str, expected: &dyn Debug, seen: &dyn Debug) -> Problem {
    let place = if place.is_empty() {
        String::new()
    } else {
        format!(" ({place})")
    };
    let (expected, seen) = (short(&format!("{expected:?}")), short(&format!("{seen:?}")));
    Problem::Failed(format!("{what}{place}: expected {expected}, seen {seen}"))
}

/// What must fail.
trait Fails {
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
struct Check<S> {
    name: &'static str,
    run: fn(&S) -> Outcome,
}

/// The checks that functions of a module make.
macro_rules! checks {
    ($module:ident: $($name:ident),+ $(,)?) => {
        vec![$($crate::Check { name: stringify!($name), run: $crate::$module::$name }),+]
    };
}

use checks;

/// Makes all checks on a system, and tells of each as it ends: its name, and how it ended.
///
/// `target` is a database that checks may make tables in, or a file beside which they may make others. An engine
/// without checks is a failure.
pub fn check(target: &Target, tell: &mut dyn FnMut(&str, &Outcome)) -> Result<(), Failure> {
    match target {
        Target::Null => Err(Failure::new(
            dbdyno_plan::document::FailureKind::Other,
            "the null engine answers nothing that could be checked",
        )),
        Target::Sqlite(target) => {
            carry_out::<Sqlite>(|number| Ok(Sqlite::new(target, number)), tell);
            Ok(())
        }
        Target::Postgresql(target) => {
            carry_out::<Postgresql>(
                |number| Ok(Postgresql::new(serde_json::to_value(target)?, number)),
                tell,
            );
            Ok(())
        }
        Target::Mysql(target) => {
            carry_out::<Mysql>(|number| Ok(Mysql::new(serde_json::to_value(target)?, number)), tell);
            Ok(())
        }
        Target::Sqlserver(target) => {
            carry_out::<Sqlserver>(|number| Ok(Sqlserver::new(serde_json::to_value(target)?, number)), tell);
            Ok(())
        }
        Target::Mongodb(target) => {
            carry_out::<Mongodb>(|number| Ok(Mongodb::new(serde_json::to_value(target)?, number)), tell);
            Ok(())
        }
    }
}

fn carry_out<S: System>(make: impl Fn(u32) -> Result<S, Problem>, tell: &mut dyn FnMut(&str, &Outcome)) {
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
