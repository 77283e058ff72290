//! Copies the database file for each client during a trial, so that clients never wait for each other's locks.

use dbdyno_engine::Failure;
use dbdyno_protocol::plan::document::FailureKind;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::path::Path;

/// Suffixes of the files that SQLite stores next to a database.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// The copies, by client. Removed on drop.
#[derive(Debug, Default)]
pub struct Copies(Vec<String>);

impl Copies {
    /// Makes a copy for each client and syncs it, so that no trial has to write it back. The file must not be open.
    /// Fails if a copy cannot be written.
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

    /// A client's file; `None` if it has no copy.
    pub fn of(&self, client: u32) -> Option<CString> {
        CString::new(self.0.get(client as usize)?.as_str()).ok()
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        for path in &self.0 {
            // Files may be missing, and the trial's directory is removed with anything that remains.
            let _ = std::fs::remove_file(path);
            for beside in BESIDE {
                let _ = std::fs::remove_file(format!("{path}{beside}"));
            }
        }
    }
}

/// Copies a file together with its write-ahead log.
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
    fn copies_are_made_for_clients_and_removed() {
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
    fn a_missing_file_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("none.db");
        let error = Copies::make(path.to_str().unwrap(), 1).unwrap_err();
        assert!(error.to_string().contains("cannot copy"), "{error}");
    }
}
