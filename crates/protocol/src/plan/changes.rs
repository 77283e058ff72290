//! What a trial changes on purpose, to see what its rate depends on.

use crate::plan::error::PlanError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a trial changes on purpose, in its warm-up and its window. Each kind of call that is named here is counted and
/// timed; a delay of 0 changes nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Changes {
    /// Each flush of the device: `fsync`, `fdatasync`, a write to a file that is opened with `O_DSYNC`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync: Option<ChangedSync>,
    /// Each read from a data file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Delay>,
    /// Each write to a data file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<Delay>,
    /// Each message of a client to the server and the answer to it: half on each way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Delay>,
    /// Each opening of a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect: Option<Delay>,
    /// Each transaction. For this delay the client computes; in all other delays it sleeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction: Option<Delay>,
    /// The server that makes the flushes, reads and writes, if it was started with the preloaded library. Left out: the
    /// engine's own file layer makes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<PreloadedServer>,
    /// Each client opens a copy of the database's file that no other client has. The file itself stays as it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_files: bool,
}

/// A delay of each call of a kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Delay {
    /// Microseconds, at most ten seconds.
    pub delay_us: f64,
}

/// What becomes of each flush of the device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangedSync {
    /// Microseconds by which it takes longer, at most ten seconds.
    #[serde(default)]
    pub delay_us: f64,
    /// It is not made at all, and is told to have succeeded. For scratch data only.
    #[serde(default)]
    pub skip: bool,
}

/// A server that was started with the preloaded library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PreloadedServer {
    /// The file that library and worker share.
    pub file: String,
}

/// The longest delay; microseconds.
const LONGEST_US: f64 = 1e7;

impl Changes {
    /// Whether calls to the file system are changed.
    pub fn files(&self) -> bool {
        self.sync.is_some() || self.read.is_some() || self.write.is_some()
    }

    /// Fails if a delay is not valid.
    pub fn check(&self) -> Result<(), PlanError> {
        let delays = [
            ("sync", self.sync.map(|sync| sync.delay_us)),
            ("read", self.read.map(|each| each.delay_us)),
            ("write", self.write.map(|each| each.delay_us)),
            ("message", self.message.map(|each| each.delay_us)),
            ("connect", self.connect.map(|each| each.delay_us)),
            ("transaction", self.transaction.map(|each| each.delay_us)),
        ];
        for (kind, delay) in delays {
            if delay.is_some_and(|delay| !(0.0..=LONGEST_US).contains(&delay)) {
                return Err(PlanError::Invalid {
                    place: format!("task.changes.{kind}.delay_us"),
                    problem: "a delay is from 0 to 10,000,000 microseconds".into(),
                });
            }
        }
        if self.server.is_some() && !self.files() {
            return Err(PlanError::Invalid {
                place: "task.changes.server".into(),
                problem: "it needs a change of `sync`, `read` or `write`".into(),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(changes: &str) -> String {
        let changes: Changes = serde_json::from_str(changes).unwrap();
        changes
            .check()
            .map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn what_is_no_delay_is_refused() {
        assert_eq!(
            problem(r#"{"sync": {"delay_us": 0}, "message": {"delay_us": 10000000}}"#),
            ""
        );
        for delay in ["-1", "1e8"] {
            let found = problem(&format!(r#"{{"read": {{"delay_us": {delay}}}}}"#));
            assert!(found.contains("task.changes.read.delay_us"), "{found}");
        }
        let found = problem(r#"{"connect": {"delay_us": 1}, "server": {"file": "/f"}}"#);
        assert!(found.contains("task.changes.server"), "{found}");
    }

    #[test]
    fn what_is_not_changed_is_left_out() {
        let changes: Changes = serde_json::from_str(r#"{"sync": {"skip": true}}"#).unwrap();
        assert!(changes.files());
        assert_eq!(
            serde_json::to_string(&changes).unwrap(),
            r#"{"sync":{"delay_us":0.0,"skip":true}}"#
        );
        assert!(serde_json::from_str::<Changes>(r#"{"read": {"skip": true}}"#).is_err());
    }
}
