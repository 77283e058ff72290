//! Reads the statements' tables from MariaDB's and MySQL's catalog.

use super::MysqlEngine;
use super::session::MysqlSession;
use dbdyno_engine::Failure;
use dbdyno_engine::catalog::{Catalog, Collation, Column, Key, View, named_views, names};
use dbdyno_protocol::plan::document::FailureKind;

const TABLES: &str = "select table_name, engine, data_length + index_length, table_rows from information_schema.tables \
     where table_schema = database() and table_type = 'BASE TABLE' order by table_name";

const COLUMNS: &str = "select table_name, column_name, column_type, extra like '% GENERATED%', collation_name \
     from information_schema.columns where table_schema = database() order by table_name, ordinal_position";

const VIEWS: &str = "select table_name, view_definition from information_schema.views where table_schema = database() order by table_name";

/// Whether the optimizer can use an index: in MariaDB, in MySQL, and in versions without either column.
const USABLE: [&str; 3] = ["ignored = 'NO'", "is_visible = 'YES'", "true"];

type Row = Vec<Option<String>>;

/// Reads the catalog.
pub async fn catalog(engine: &MysqlEngine, session: &mut MysqlSession) -> Result<Catalog, Failure> {
    let mut catalog = Catalog::default();
    let mut texts: Vec<String> = engine
        .statements
        .iter()
        .map(|each| each.statement.sql.to_string())
        .collect();
    let views = rows(session, VIEWS).await?.unwrap_or_default();
    catalog.views = named_views(views.into_iter().filter_map(view).collect(), &mut texts);
    let named = |table: &str| texts.iter().any(|each| names(each, table));
    for row in rows(session, TABLES).await?.unwrap_or_default() {
        let [Some(name), engine, bytes, rows] = &row[..] else {
            continue;
        };
        if let Some(bytes) = bytes.as_ref().and_then(|text| text.parse::<u64>().ok()) {
            *catalog.data_bytes.get_or_insert(0) += bytes;
        }
        if named(name) {
            let table = catalog.table(name);
            table.storage_engine.clone_from(engine);
            table.rows = rows.as_ref().and_then(|text| text.parse().ok());
        }
    }
    for row in rows(session, COLUMNS).await?.unwrap_or_default() {
        let [Some(table), Some(name), Some(kind), Some(generated), collation] = &row[..] else {
            continue;
        };
        if named(table) {
            catalog.table(table).columns.push(Column {
                name: name.clone(),
                kind: kind.clone(),
                collation: collation.as_deref().map(of_name),
                generated: generated == "1",
            });
        }
    }
    for usable in USABLE {
        let sql = format!(
            "select table_name, index_name, index_type, {usable}, non_unique, collation, column_name, sub_part from \
             information_schema.statistics where table_schema = database() order by table_name, index_name, seq_in_index"
        );
        if let Some(rows) = rows(session, &sql).await? {
            rows.iter().for_each(|row| add_key(&mut catalog, row, named));
            break;
        }
    }
    Ok(catalog)
}

fn add_key(catalog: &mut Catalog, row: &[Option<String>], named: impl Fn(&str) -> bool) {
    let [
        Some(table),
        Some(name),
        Some(method),
        Some(usable),
        Some(non_unique),
        order,
        column,
        prefix,
    ] = row
    else {
        return;
    };
    if !named(table) {
        return;
    }
    let table = catalog.table(table);
    let of_column = |column: &str| table.columns.iter().find(|each| each.name.eq_ignore_ascii_case(column));
    let collation = column
        .as_deref()
        .and_then(of_column)
        .and_then(|column| column.collation.clone());
    if name == "PRIMARY" {
        table.primary_key.extend(column.clone());
    }
    let index = table.index(name, method);
    (index.usable, index.unique) = (usable == "1", non_unique == "0");
    index.keys.push(Key {
        column: column.clone(),
        collation,
        operator_class: None,
        prefix: prefix.as_ref().and_then(|text| text.parse().ok()),
        descending: order.as_deref() == Some("D"),
    });
}

/// A view. Its definition is missing or empty if the user may not see it.
fn view(row: Row) -> Option<View> {
    let Ok([Some(name), Some(definition)]) = <[Option<String>; 2]>::try_from(row) else {
        return None;
    };
    (!definition.is_empty()).then(|| View {
        name,
        definition,
        ..View::default()
    })
}

/// Ignores errors of the query, but not a lost connection.
async fn rows(session: &mut MysqlSession, sql: &str) -> Result<Option<Vec<Row>>, Failure> {
    match session.query(sql).await {
        Err(failure) if failure.kind == FailureKind::Connection => Err(failure),
        answer => Ok(answer.ok()),
    }
}

/// Derives properties from a collation's name: `utf8mb4_general_ci`, `utf8mb4_0900_as_cs`, `latin1_bin`, `binary`.
fn of_name(name: &str) -> Collation {
    let lower = name.to_lowercase();
    let by_bytes = lower == "binary" || lower.ends_with("_bin");
    let regards_case = match lower.as_str() {
        _ if by_bytes || lower.ends_with("_cs") => Some(true),
        _ if lower.ends_with("_ci") => Some(false),
        _ => None,
    };
    Collation {
        name: name.to_owned(),
        provider: None,
        by_bytes: Some(by_bytes),
        regards_case,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collation_names_tell_whether_case_matters() {
        let case = |name: &str| of_name(name).regards_case;
        assert_eq!(case("utf8mb4_general_ci"), Some(false));
        assert_eq!(case("utf8mb4_uca1400_ai_ci"), Some(false));
        assert_eq!(case("utf8mb4_0900_as_cs"), Some(true));
        assert_eq!(case("utf8mb4_bin"), Some(true));
        assert_eq!(case("something"), None);
    }
}
