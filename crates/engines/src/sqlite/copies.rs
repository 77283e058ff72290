//! A copy of the database's file for each client, for as long as a trial runs: clients that never wait for one another's locks.

use dbdyno_engine::Failure;
use dbdyno_plan::document::FailureKind;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::path::Path;

/// What SQLite keeps beside a file.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// The copies, by client. They are removed when this is dropped.
#[derive(Debug, Default)]
pub struct Copies(Vec<String>);

impl Copies {
    /// Makes a copy for each of so many clients, and waits until it is on the device, so that no trial writes it. Nobody is to
    /// have the file open. Fails where a copy cannot be written.
    pub fn make(path: &str, clients: u32) -> Result<Self, Failure> {
        let mut copies = Self(Vec::new());
        for client in 0..clients {
            let to = format!("{path}-client{client}");
            copies.0.push(to.clone());
            copy(path, &to).map_err(|error| {
                Failure::new(FailureKind::Other, format!("cannot copy {path} for a client: {error}"))
            })?;
        }
        Ok(copies)
    }

    /// The file of a client; `None` where it has none of its own.
    pub fn of(&self, client: u32) -> Option<CString> {
        CString::new(self.0.get(client as usize)?.as_str()).ok()
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        for path in &self.0 {
            // What is not there is as it should be, and what else is left goes with the trial's directory.
            let _ = std::fs::remove_file(path);
            for beside in BESIDE {
                let _ = std::fs::remove_file(format!("{path}{beside}"));
            }
        }
    }
}

/// Copies a file, and what is in its log and not in it yet.
fn copy(from: &str, to: &str) -> io::Result<()> {
    std::fs::copy(from, to)?;
    File::open(to)?.sync_all()?;
    let log = format!("{from}-wal");
    if Path::new(&log).exists() {
        let to = format!("{to}-wal");
        std::fs::copy(log, &to)?;
        File::open(to)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn clients_have_copies_and_nothing_is_left_of_them() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.db");
        std::fs::write(&path, "data").unwrap();
        std::fs::write(directory.path().join("t.db-wal"), "log").unwrap();
        let copies = Copies::make(path.to_str().unwrap(), 2).unwrap();
        let second = copies.of(1).unwrap().into_string().unwrap();
        assert_eq!(std::fs::read_to_string(&second).unwrap(), "data");
        assert_eq!(std::fs::read_to_string(format!("{second}-wal")).unwrap(), "log");
        assert_eq!(copies.of(2), None);
        std::fs::write(format!("{second}-journal"), "x").unwrap();
        drop(copies);
        let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().collect();
        assert_eq!(left.len(), 2, "the file and its log: {left:?}");
    }

    #[test]
    fn a_file_that_is_not_there_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("none.db");
        let error = Copies::make(path.to_str().unwrap(), 1).unwrap_err();
        assert!(error.to_string().contains("cannot copy"), "{error}");
    }
}
