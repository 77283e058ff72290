//! Replays recorded statements on a system.

use crate::error::WorkError;
use crate::query::trial;
use dbdyno_engine::driver::Driver as _;
use dbdyno_engines::Target;
use dbdyno_replay::{Replay, Task};
use serde_json::json;

/// Replays what standard input contains after the task.
pub fn replay(task: &Task) -> Result<(), WorkError> {
    let target = Target::try_from(&task.target)?;
    target.measure(
        &trial(&task.target, &json!([]), &json!([]))?,
        Replay {
            speed: task.speed,
            sessions: task.sessions,
        },
    )??;
    Ok(())
}
