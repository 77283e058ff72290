//! Changes inside the server, made by a library that it preloads.

use crate::error::TrialError;
use dbdyno_delays::{Call, Counts, Shared};
use dbdyno_protocol::plan::changes::Changes;
use std::path::Path;
use std::sync::atomic::Ordering;

/// Counts of flushes, reads and writes, in this order. `None` if the server has never made such a call.
pub(crate) type Readings = [Option<Counts>; 3];

/// The memory shared with the preloaded library, and the requested changes. Dropping it stops the changes.
#[derive(Debug)]
pub(crate) struct Preloaded {
    page: Shared,
    /// Delay in nanoseconds of flushes, reads and writes, and whether to skip the call. `None`: unchanged.
    wanted: [Option<(u64, bool)>; 3],
}

impl Preloaded {
    /// Opens the file that a plan names, if any. Fails if no server has loaded the library.
    pub(crate) fn of(changes: &Changes) -> Result<Option<Self>, TrialError> {
        let Some(server) = &changes.server else {
            return Ok(None);
        };
        let path = Path::new(&server.file);
        let failed = |why: String| TrialError::Preloaded(format!("{}: {why}", server.file));
        let page = Shared::open(path).map_err(|error| failed(error.to_string()))?;
        if page.attached.load(Ordering::Relaxed) == 0 {
            return Err(failed(
                "no server was started with the preloaded library and this file".into(),
            ));
        }
        let delay = |delay_us: f64| (delay_us * 1e3).round() as u64;
        Ok(Some(Self {
            page,
            wanted: [
                changes.sync.map(|sync| (delay(sync.delay_us), sync.skip)),
                changes.read.map(|read| (delay(read.delay_us), false)),
                changes.write.map(|write| (delay(write.delay_us), false)),
            ],
        }))
    }

    fn calls(&self) -> [&Call; 3] {
        [&self.page.sync, &self.page.read, &self.page.write]
    }

    /// Starts counting and changing the server's calls.
    pub(crate) fn begin(&self) {
        for (call, wanted) in self.calls().into_iter().zip(self.wanted) {
            if let Some((delay, skip)) = wanted {
                call.begin(delay, skip);
            }
        }
    }

    /// Stops counting and changing them.
    pub(crate) fn end(&self) {
        self.calls().into_iter().for_each(Call::end);
    }

    /// The current counts of the changed calls.
    pub(crate) fn read(&self) -> Readings {
        let mut readings = self.calls().map(Call::counts);
        for (reading, wanted) in readings.iter_mut().zip(self.wanted) {
            *reading = reading.filter(|_| wanted.is_some());
        }
        readings
    }
}

impl Drop for Preloaded {
    fn drop(&mut self) {
        self.end();
    }
}

/// The increase between two readings. A kind without a first reading was counted from zero.
pub(crate) fn rise(before: &Readings, after: &Readings) -> Readings {
    let mut rise = *after;
    for (now, then) in rise.iter_mut().zip(before) {
        *now = now.map(|now| now.since(&then.unwrap_or_default()));
    }
    rise
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_delays::{MAGIC, SIZE};

    fn changes(path: &Path) -> Changes {
        let plan = serde_json::json!({"sync": {"skip": true}, "read": {"delay_us": 2.5}, "server": {"file": path}});
        serde_json::from_value(plan).unwrap()
    }

    #[test]
    fn a_server_s_calls_are_changed_as_long_as_the_trial_lasts() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut content = vec![0; SIZE];
        content[..MAGIC.len()].copy_from_slice(&MAGIC);
        std::fs::write(file.path(), content).unwrap();
        let error = Preloaded::of(&changes(file.path())).unwrap_err().to_string();
        assert!(error.contains("no server was started"), "{error}");
        let server = Shared::open(file.path()).unwrap();
        server.attached.store(1, Ordering::Relaxed);
        server.read.seen.store(1, Ordering::Relaxed);
        let preloaded = Preloaded::of(&changes(file.path())).unwrap().unwrap();
        let before = preloaded.read();
        preloaded.begin();
        let on = || [&server.sync, &server.read, &server.write].map(|call| call.on.load(Ordering::Relaxed));
        assert_eq!((on(), server.sync.skip.load(Ordering::Relaxed)), ([1, 1, 0], 1));
        assert_eq!(server.read.delay_ns.load(Ordering::Relaxed), 2500);
        server.read.count(10, 20);
        let counted = rise(&before, &preloaded.read());
        assert_eq!(counted[0], None, "there was never a flush");
        assert_eq!(counted[1].map(|read| (read.calls, read.added_ns)), Some((1, 20)));
        assert_eq!(counted[2], None, "writes are not changed");
        drop(preloaded);
        assert_eq!(on(), [0, 0, 0]);
    }

    #[test]
    fn a_file_of_another_format_is_refused() {
        let error = Preloaded::of(&changes(Path::new("/nowhere/page")))
            .unwrap_err()
            .to_string();
        assert!(error.contains("/nowhere/page: "), "{error}");
    }
}
