//! The state of the operating system's cache of a database file when a trial begins.

use dbdyno_engine::Failure;
use dbdyno_protocol::plan::document::FailureKind;
use rustix::fs::Advice;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The state of the operating system's cache of a file when a trial begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OsCache {
    /// Every page of the file has been read once.
    #[default]
    Warm,
    /// No page of the file is in memory.
    Cold,
    /// It is left as it is.
    AsIs,
}

impl OsCache {
    /// Brings the cache of a file into this state. A missing file is skipped.
    pub fn bring(self, path: &Path) -> Result<(), Failure> {
        if self == Self::AsIs || !path.exists() {
            return Ok(());
        }
        let wrong = |what: &'static str| {
            move |error: std::io::Error| Failure::new(FailureKind::Other, format!("{what} {}: {error}", path.display()))
        };
        let file = std::fs::File::open(path).map_err(wrong("opening"))?;
        match self {
            Self::AsIs => {}
            Self::Warm => {
                // With the default buffer, the system calls take longer than reading.
                let mut file = std::io::BufReader::with_capacity(1 << 20, file);
                std::io::copy(&mut file, &mut std::io::sink()).map_err(wrong("reading"))?;
            }
            Self::Cold => {
                // Only pages that are on the device can be dropped.
                file.sync_all().map_err(wrong("syncing"))?;
                rustix::fs::fadvise(&file, 0, None, Advice::DontNeed)
                    .map_err(|error| wrong("dropping the cached pages of")(error.into()))?;
            }
        }
        Ok(())
    }
}
