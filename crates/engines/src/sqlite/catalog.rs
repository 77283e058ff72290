//! Reads the statements' tables from SQLite's catalog.

use super::{SqliteEngine, SqliteSession};
use crate::sql_text::quoted;
use dbdyno_engine::Failure;
use dbdyno_engine::catalog::{Catalog, Collation, Column, ForeignKey, Key, View, named_views, names};

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
    let mut views = Vec::new();
    let listed = session.query("select name, sql from sqlite_master where type = 'view'", |row| {
        if let [name, definition] = row {
            views.push(View {
                name: name.clone(),
                definition: definition.clone(),
                ..View::default()
            });
        }
    });
    if listed.is_err() {
        return catalog;
    }
    let mut texts: Vec<String> = engine.statements.iter().map(|each| each.sql.clone()).collect();
    catalog.views = named_views(views, &mut texts);
    let named = |table: &str| texts.iter().any(|each| names(each, table));
    tables.retain(|table| named(table));
    for table in tables {
        // Skip a table that cannot be read, for example because its module is missing.
        if add(session, &mut catalog, &table).is_err() {
            catalog.tables.retain(|each| each.name != table);
        }
    }
    // Libraries before 3.16 lack pragmas as tables.
    let keys = foreign_keys(session).unwrap_or_default();
    catalog.set_foreign_keys(keys, named);
    catalog
}

/// All foreign keys of the database.
fn foreign_keys(session: &mut SqliteSession) -> Result<Vec<ForeignKey>, Failure> {
    let mut keys: Vec<(String, ForeignKey)> = Vec::new();
    let sql = "select m.name, f.id, f.\"table\", f.\"from\", f.\"to\", f.on_delete, f.on_update from sqlite_master m \
               join pragma_foreign_key_list(m.name) f where m.type = 'table' order by m.name, f.id, f.seq";
    session.query(sql, |row| {
        let [table, number, parent, column, referenced, on_delete, on_update] = row else {
            return;
        };
        if keys.last().is_none_or(|(id, key)| id != number || key.table != *table) {
            let key = ForeignKey {
                table: table.clone(),
                parent: parent.clone(),
                on_delete: on_delete.to_lowercase(),
                on_update: on_update.to_lowercase(),
                ..ForeignKey::default()
            };
            keys.push((number.clone(), key));
        }
        if let Some((_, key)) = keys.last_mut() {
            key.columns.push(column.clone());
            // Null: the primary key.
            key.parent_columns
                .extend((!referenced.is_empty()).then(|| referenced.clone()));
        }
    })?;
    let mut keys: Vec<ForeignKey> = keys.into_iter().map(|(_, key)| key).collect();
    for key in &mut keys {
        key.indexed = is_indexed(session, key)?;
        key.rows = rows(session, &key.table);
    }
    Ok(keys)
}

/// Whether an index or the rowid leads to the rows of a foreign key.
fn is_indexed(session: &mut SqliteSession, key: &ForeignKey) -> Result<bool, Failure> {
    let table = literal(&key.table);
    let columns: Vec<String> = key.columns.iter().map(|name| literal(&name.to_lowercase())).collect();
    let (count, columns) = (columns.len(), columns.join(", "));
    let sql = format!(
        "select exists (select 1 from pragma_index_list({table}) l where l.partial = 0 and {count} = (select count(*) \
         from pragma_index_xinfo(l.name) x where x.key = 1 and x.seqno < {count} and lower(x.name) in ({columns}))) \
         or ({count} = 1 and (select count(*) = 1 and sum(lower(type) = 'integer' and lower(name) in ({columns})) = 1 \
         from pragma_table_info({table}) where pk > 0))"
    );
    let mut found = false;
    session.query(&sql, |row| found = row.first().is_some_and(|value| value == "1"))?;
    Ok(found)
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// An upper bound of a table's rows; none for a table without rowids.
fn rows(session: &mut SqliteSession, table: &str) -> Option<u64> {
    let sql = format!(
        "select (select max(rowid) from {0}) - (select min(rowid) from {0}) + 1",
        quoted(table)
    );
    let mut rows = None;
    let told = session.query(&sql, |row| rows = row.first().map(|text| text.parse().unwrap_or(0)));
    told.ok().and(rows)
}

fn add(session: &mut SqliteSession, catalog: &mut Catalog, name: &str) -> Result<(), Failure> {
    let table = catalog.table(name);
    let mut primary = Vec::new();
    session.query(&format!("pragma table_info({})", quoted(name)), |row| {
        if let [_, column, kind, _, _, place, ..] = row {
            table.columns.push(Column {
                name: column.clone(),
                kind: kind.clone(),
                ..Column::default()
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
    table.rows = rows(session, name);
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
