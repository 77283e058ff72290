//! Reads the statements' tables from SQLite's catalog.

use super::{SqliteEngine, SqliteSession};
use crate::sql_text::quoted;
use dbdyno_engine::Failure;
use dbdyno_engine::catalog::{Catalog, Collation, Column, Key, names};

/// Reads the catalog. The caller sets `data_bytes`, because it knows the pages.
pub fn catalog(engine: &SqliteEngine, session: &mut SqliteSession) -> Catalog {
    let mut catalog = Catalog::default();
    let mut tables = Vec::new();
    let listed = session.query("select name from sqlite_master where type = 'table'", |row| {
        tables.extend(row.first().cloned());
    });
    if listed.is_err() {
        return catalog;
    }
    tables.retain(|table| engine.statements.iter().any(|each| names(&each.sql, table)));
    for table in tables {
        // Skip a table that cannot be read, for example because its module is missing.
        if add(session, &mut catalog, &table).is_err() {
            catalog.tables.retain(|each| each.name != table);
        }
    }
    catalog
}

fn add(session: &mut SqliteSession, catalog: &mut Catalog, name: &str) -> Result<(), Failure> {
    let table = catalog.table(name);
    let mut primary = Vec::new();
    session.query(&format!("pragma table_info({})", quoted(name)), |row| {
        if let [_, column, kind, _, _, place, ..] = row {
            table.columns.push(Column {
                name: column.clone(),
                kind: kind.clone(),
                collation: None,
            });
            // From 1; 0 is no part of the primary key.
            match place.parse::<u32>() {
                Ok(place) if place > 0 => primary.push((place, column.clone())),
                _ => {}
            }
        }
    })?;
    primary.sort_unstable();
    table.primary_key = primary.into_iter().map(|(_, column)| column).collect();
    // An upper bound. A table without rowids has no estimate.
    let numbers = format!(
        "select (select max(rowid) from {0}) - (select min(rowid) from {0}) + 1",
        quoted(name)
    );
    let mut rows = None;
    let told = session.query(&numbers, |row| rows = row.first().map(|text| text.parse().unwrap_or(0)));
    table.rows = told.ok().and(rows);
    for column in &mut table.columns {
        column.collation = compared(session, name, &column.name);
    }
    let mut indexes = Vec::new();
    session.query(&format!("pragma index_list({})", quoted(name)), |row| {
        if let [_, index, rest @ ..] = row {
            // Columns after `unique`: origin and partial, since 3.8.9.
            let is_set = |at: usize| rest.get(at).is_some_and(|flag| flag == "1");
            indexes.push((index.clone(), is_set(0), is_set(2)));
        }
    })?;
    for (name, unique, partial) in indexes {
        let index = table.index(&name, "btree");
        (index.unique, index.partial) = (unique, partial);
        // Older libraries lack this pragma, so the index's columns are unknown.
        session.query(&format!("pragma index_xinfo({})", quoted(&name)), |row| {
            if let [_, number, column, descending, collation, key, ..] = row
                && key == "1"
            {
                index.keys.push(Key {
                    // -1 is the rowid, -2 an expression.
                    column: (!number.starts_with('-')).then(|| column.clone()),
                    collation: Some(of_name(collation)),
                    descending: descending == "1",
                    ..Key::default()
                });
            }
        })?;
    }
    Ok(())
}

/// The collation of equality comparisons on a column, taken from the bytecode of such a comparison, because no pragma
/// reports it.
fn compared(session: &mut SqliteSession, table: &str, column: &str) -> Option<Collation> {
    let mut found = None;
    // The unary plus disables indexes and keeps the collation.
    let sql = format!(
        "explain select 1 from {} where +{} = 'a'",
        quoted(table),
        quoted(column)
    );
    let told = session.query(&sql, |row| {
        if let [_, code, _, _, _, collation, ..] = row
            && (code == "Ne" || code == "Eq")
        {
            // `NOCASE-8`, or in older libraries `collseq(NOCASE)`.
            let name = collation.trim_start_matches("collseq(").trim_end_matches(')');
            found = name.split('-').next().filter(|name| !name.is_empty()).map(of_name);
        }
    });
    told.ok().and(found)
}

fn of_name(name: &str) -> Collation {
    let lower = name.to_lowercase();
    Collation {
        name: name.to_owned(),
        provider: None,
        by_bytes: match lower.as_str() {
            "binary" => Some(true),
            "nocase" | "rtrim" => Some(false),
            _ => None,
        },
        regards_case: match lower.as_str() {
            "binary" | "rtrim" => Some(true),
            "nocase" => Some(false),
            _ => None,
        },
    }
}
