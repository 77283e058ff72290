//! Packs the source of the bundled SQLite into the worker, so that other builds of the same version can be made.

use std::error::Error;
use std::io::Write as _;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let source = PathBuf::from(std::env::var("DEP_SQLITE3_INCLUDE")?);
    for name in ["sqlite3.c", "sqlite3.h"] {
        let text = std::fs::read(source.join(name))?;
        let packed = std::fs::File::create(out.join(format!("{name}.gz")))?;
        let mut encoder = flate2::write::GzEncoder::new(packed, flate2::Compression::best());
        encoder.write_all(&text)?;
        encoder.finish()?;
        println!("cargo::rerun-if-changed={}", source.join(name).display());
    }
    Ok(())
}
