//! The source of the bundled SQLite, packed into the worker.

use crate::error::WorkError;
use std::io::Write as _;
use std::path::Path;

const FILES: [(&str, &[u8]); 2] = [
    ("sqlite3.c", include_bytes!(concat!(env!("OUT_DIR"), "/sqlite3.c.gz"))),
    ("sqlite3.h", include_bytes!(concat!(env!("OUT_DIR"), "/sqlite3.h.gz"))),
];

/// Writes `sqlite3.c` and `sqlite3.h` into a directory.
pub fn write(directory: &Path) -> Result<(), WorkError> {
    for (name, packed) in FILES {
        let path = directory.join(name);
        let wrong = |error: std::io::Error| {
            WorkError::Output(std::io::Error::new(
                error.kind(),
                format!("writing {}: {error}", path.display()),
            ))
        };
        let mut file = std::fs::File::create(&path).map_err(wrong)?;
        std::io::copy(&mut flate2::read::GzDecoder::new(packed), &mut file).map_err(wrong)?;
        file.flush().map_err(wrong)?;
    }
    Ok(())
}
