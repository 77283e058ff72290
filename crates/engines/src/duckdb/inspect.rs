//! Reads facts about a DuckDB library and its database.

use super::bulk::in_memory;
use super::estimates::estimates;
use super::{DIALECT, DuckdbEngine, DuckdbSession, text_of};
use crate::sql_text::{Template, with_example};
use dbdyno_engine::catalog::{Catalog, Column, Key, names};
use dbdyno_engine::estimates::TimeBudget;
use dbdyno_engine::{Durability, DurabilityClass, Facts, Failure};
use dbdyno_program::value::{Value as Sent, Values};
use dbdyno_protocol::plan::document::Statement;
use serde_json::Value;

/// Reads the version, the effective settings, the durability, the query plans and the catalog.
pub fn facts(engine: &DuckdbEngine) -> Result<Facts, Failure> {
    let session = engine.open()?;
    // SAFETY: the function takes no arguments and returns a constant.
    let version = unsafe { text_of((engine.database.api.library_version)()) }.unwrap_or_default();
    let source_id = rows(&session, "select source_id from pragma_version()")?
        .into_iter()
        .flatten()
        .next();
    let settings = rows(
        &session,
        "select name, value from duckdb_settings() where value is not null",
    )?
    .into_iter()
    .filter_map(|row| <[String; 2]>::try_from(row).ok())
    .map(|[name, value]| (name, value))
    .collect();
    let mut facts = Facts {
        engine: "DuckDB".into(),
        version: version.trim_start_matches('v').to_owned(),
        source_id,
        settings,
        durability: durability(&engine.database.target.path),
        catalog: catalog(engine, &session)?,
        estimates: estimates(engine, TimeBudget::for_trial()),
        ..Facts::default()
    };
    for statement in engine.statements.iter() {
        let sql = with_example(statement, &DIALECT).unwrap_or_else(|| with_any(statement));
        // A statement that cannot be planned, for example because its table doesn't exist yet, has no plan. If the text
        // had several statements, EXPLAIN would execute all but the first.
        let Ok(parsed) = session.parse(&sql) else { continue };
        session.forget(parsed);
        if let Ok(found) = rows(&session, &format!("explain (format json) {sql}")) {
            let mut lines = Vec::new();
            for text in found.iter().filter_map(|row| row.last()) {
                if let Ok(Value::Array(steps)) = serde_json::from_str(text) {
                    steps.iter().for_each(|step| outline(step, 0, &mut lines));
                }
            }
            if !lines.is_empty() {
                facts.plans.insert(statement.name.clone(), lines);
            }
        }
    }
    Ok(facts)
}

/// Writes a plan step and its descendants, one per line: the operator and its details.
fn outline(step: &Value, depth: usize, lines: &mut Vec<String>) {
    let mut line = format!("{:1$}{2}", "", 2 * depth, step["name"].as_str().unwrap_or("?").trim());
    for (name, value) in step["extra_info"].as_object().into_iter().flatten() {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Array(several) => several.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
            other => other.to_string(),
        };
        if !text.is_empty() {
            line.push_str(&format!(" ({name}: {text})"));
        }
    }
    lines.push(line);
    for child in step["children"].as_array().into_iter().flatten() {
        outline(child, depth + 1, lines);
    }
}

/// The statement with a string for each parameter. Where possible, the string is converted to the type that it is
/// compared with. With nulls, the planner would produce an empty result.
fn with_any(statement: &Statement) -> String {
    let template = Template::of(statement);
    let (mut values, mut text) = (Values::default(), String::new());
    (0..template.parameters()).for_each(|_| values.push(Sent::Text("1")));
    template.render(&values, &DIALECT, &mut text);
    text
}

/// DuckDB syncs its log before it acknowledges a commit; no setting disables this.
fn durability(path: &str) -> Durability {
    if in_memory(path) {
        return Durability {
            because: "the database is in memory".into(),
            ..Durability::default()
        };
    }
    Durability {
        class: DurabilityClass::PowerSafe,
        because: "the log is synced at each commit".into(),
    }
}

/// The rows of a query whose columns are strings.
fn rows(session: &DuckdbSession, sql: &str) -> Result<Vec<Vec<String>>, Failure> {
    session.query(sql)?.texts()
}

fn catalog(engine: &DuckdbEngine, session: &DuckdbSession) -> Result<Catalog, Failure> {
    let mut catalog = Catalog {
        data_bytes: std::fs::metadata(&engine.database.target.path)
            .ok()
            .map(|file| file.len()),
        ..Catalog::default()
    };
    let named = |table: &str| engine.statements.iter().any(|statement| names(&statement.sql, table));
    for row in rows(
        session,
        "select table_name, column_name, data_type from duckdb_columns() where not internal order by table_name, column_index",
    )? {
        if let [table, column, kind] = row.as_slice()
            && named(table)
        {
            catalog.table(table).columns.push(Column {
                name: column.clone(),
                kind: kind.clone(),
                ..Column::default()
            });
        }
    }
    for row in rows(
        session,
        "select table_name, estimated_size from duckdb_tables() where not internal",
    )? {
        if let [table, size] = row.as_slice()
            && catalog.tables.iter().any(|each| each.name == *table)
        {
            catalog.table(table).rows = size.parse().ok();
        }
    }
    for row in rows(
        session,
        "select table_name, index_name, expressions, is_unique::varchar, 'false' from duckdb_indexes() union all \
         select table_name, lower(constraint_type) || ' of ' || table_name, constraint_column_names::varchar, 'true', \
         (constraint_type = 'PRIMARY KEY')::varchar \
         from duckdb_constraints() where constraint_type in ('PRIMARY KEY', 'UNIQUE')",
    )? {
        if let [table, index, expressions, unique, primary] = row.as_slice()
            && named(table)
        {
            // Includes unique constraints, whose index has no name.
            let keys = expressions.trim_matches(['[', ']']).split(", ").map(|column| Key {
                column: Some(column.trim_matches(['\'', '"']).to_owned()),
                ..Key::default()
            });
            let keys: Vec<Key> = keys.collect();
            let table = catalog.table(table);
            if primary == "true" {
                table.primary_key = keys.iter().filter_map(|key| key.column.clone()).collect();
            }
            let index = table.index(index, "art");
            index.unique = unique == "true";
            index.keys.extend(keys);
        }
    }
    Ok(catalog)
}
