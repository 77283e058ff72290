//! Checks whether the changes of a trial are possible.

use dbdyno_engine::changes::Changeable;
use dbdyno_protocol::plan::PlanError;
use dbdyno_protocol::plan::document::Trial;

/// Fails if a trial changes calls that its engine doesn't make in the worker's process, and no server with the
/// preloaded library is named. Also fails if one is named but the engine makes the calls itself.
pub fn check(trial: &Trial, changeable: Changeable) -> Result<(), PlanError> {
    let Some(changes) = &trial.changes else {
        return Ok(());
    };
    let wrong = |place: &str, problem: &str| {
        Err(PlanError::Invalid {
            place: format!("task.changes{place}"),
            problem: problem.into(),
        })
    };
    if changes.files() && changes.server.is_none() && !changeable.files {
        return wrong(
            "",
            "file calls of this engine can only be changed in a server that preloads the library (`server`)",
        );
    }
    if changes.server.is_some() && changeable.files {
        return wrong(".server", "this engine has no server; the worker makes its file calls");
    }
    if changes.message.is_some() && !changeable.messages {
        return wrong(".message", "messages of this engine's sessions cannot be delayed");
    }
    if changes.own_files && !changeable.copies {
        return wrong(
            ".own_files",
            "clients of this engine cannot have copies of the database",
        );
    }
    if changes.own_files && (trial.part.is_some() || trial.record.groups.is_some()) {
        return wrong(
            ".own_files",
            "copies require that one worker runs all clients, and that no instructions are counted",
        );
    }
    changes.check()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(changes: serde_json::Value, files: bool, messages: bool) -> String {
        let trial = serde_json::from_value(serde_json::json!({
            "target": {"engine": "null"}, "clients": 1, "window": {"seconds": 1}, "statements": [], "transactions": [],
            "changes": changes,
        }));
        let found = check(
            &trial.unwrap(),
            Changeable {
                files,
                messages,
                copies: files,
            },
        );
        found.map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn changes_that_an_engine_cannot_make_are_refused() {
        let delay = serde_json::json!({"delay_us": 1});
        let server = serde_json::json!({"file": "/f"});
        let sync = serde_json::json!({"sync": delay});
        assert_eq!(problem(sync.clone(), true, false), "");
        assert!(problem(sync, false, true).contains("a server that preloads"));
        let preloaded = serde_json::json!({"sync": delay, "server": server});
        assert_eq!(problem(preloaded.clone(), false, false), "");
        assert!(problem(preloaded, true, false).contains("task.changes.server"));
        let message = serde_json::json!({"message": delay});
        assert_eq!(problem(message.clone(), false, true), "");
        assert!(problem(message, true, false).contains("task.changes.message"));
        assert_eq!(
            problem(
                serde_json::json!({"connect": delay, "transaction": delay}),
                false,
                false
            ),
            ""
        );
        assert!(problem(serde_json::json!({"connect": {"delay_us": -1}}), true, true).contains("delay_us"));
        let own = serde_json::json!({"own_files": true});
        assert_eq!(problem(own.clone(), true, false), "");
        assert!(problem(own, false, true).contains("task.changes.own_files"));
    }
}
