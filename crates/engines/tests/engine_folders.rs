//! An engine is one folder: code outside the folders doesn't name an engine, except in the registry.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

/// Files that may name engines: the registry, the list of modules, the source of the bundled SQLite, and the proxy's
/// choice of a protocol.
const ABOUT_ENGINES: [&str; 4] = [
    "engines/src/registry.rs",
    "engines/src/lib.rs",
    "worker/src/amalgamation.rs",
    "proxy/src/lib.rs",
];

/// Folders with a folder for each engine or its protocol.
const WITH_FOLDERS: [&str; 2] = ["engines/src", "proxy/src"];

/// Names of systems that have no folder of that name.
const PRODUCTS: [&str; 3] = ["mariadb", "ferretdb", "postgres"];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The folders of engines: those with a driver.
fn engines() -> Vec<String> {
    let folders = fs::read_dir(crates().join("engines/src"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut names: Vec<String> = folders
        .filter(|path| path.join("driver.rs").exists())
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The lines of code that contain one of these names, without comments, up to the tests.
fn naming<'a>(text: &'a str, names: &[String]) -> Vec<(usize, &'a str)> {
    let code = text.split("#[cfg(test)]").next().unwrap();
    let names_one = |line: &str| {
        let code = line.split("//").next().unwrap().to_lowercase();
        names.iter().any(|name| code.contains(name.as_str()))
    };
    (1..).zip(code.lines()).filter(|(_, line)| names_one(line)).collect()
}

#[test]
fn code_outside_the_folders_names_no_engine() {
    let engines = engines();
    assert!(engines.len() >= 5, "{engines:?}");
    let names: Vec<String> = engines.iter().cloned().chain(PRODUCTS.map(str::to_owned)).collect();
    let root = crates();
    let mut found = Vec::new();
    for part in fs::read_dir(&root).unwrap() {
        let folder = part.unwrap().path().join("src");
        if folder.exists() {
            sources(&folder, &mut found);
        }
    }
    let mut wrong = Vec::new();
    for path in found {
        let place = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
        let mut folders = WITH_FOLDERS
            .iter()
            .flat_map(|folder| engines.iter().map(move |name| format!("{folder}/{name}/")));
        // The crate of an engine is named after it.
        let inside = folders.any(|folder| place.starts_with(&folder))
            || engines.iter().any(|name| place.starts_with(&format!("{name}-")));
        if inside || ABOUT_ENGINES.contains(&place.as_str()) {
            continue;
        }
        for (line, code) in naming(&fs::read_to_string(&path).unwrap(), &names) {
            wrong.push(format!("{place}:{line}: {}", code.trim()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_line_that_names_an_engine_is_found() {
    let names = ["sqlite".to_owned()];
    assert_eq!(naming("// of SQLite\nif engine == \"sqlite\" {\n}", &names).len(), 1);
    assert_eq!(naming("Target::Sqlite(target) => {}", &names).len(), 1);
    assert!(naming("#[cfg(test)]\nSqlite", &names).is_empty());
}
