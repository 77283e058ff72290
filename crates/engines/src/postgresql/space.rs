//! Sizes of tables and indexes, as PostgreSQL reports them.

use super::DIALECT;
use super::session::PostgresqlSession;
use crate::server::ServerTarget;
use crate::sql_text::{quoted, write_literal};
use dbdyno_engine::time_limits::WORK;
use dbdyno_engine::{Failure, Session as _};
use dbdyno_program::value::Value;
use dbdyno_protocol::event::Object;
use dbdyno_protocol::plan::document::PrepareMode;

/// The extension pgstattuple, if available, reports the leaves of indexes. It reads the whole index.
const EXTENSION: &str = "create extension if not exists pgstattuple";
const LEAVES: [&str; 2] = [
    "s.leaf_pages, s.avg_leaf_density / 100",
    "cross join lateral pgstatindex(i.indexrelid) s",
];

/// Reads the sizes.
pub async fn space(target: &ServerTarget, tables: &[String]) -> Result<Vec<Object>, Failure> {
    let mut session = PostgresqlSession::open(target, Vec::new().into(), PrepareMode::Never).await?;
    let told = session.query(EXTENSION).await.is_ok();
    let [leaves, from] = if told { LEAVES } else { ["null, null", ""] };
    let mut objects = Vec::new();
    for table in tables {
        let mut name = String::new();
        write_literal(Value::Text(&quoted(table)), &DIALECT, &mut name);
        let own = format!("select null, pg_table_size(to_regclass({name})), null, null");
        let indexes = format!(
            "select c.relname, pg_relation_size(c.oid), {leaves} from pg_index i join pg_class c on c.oid = i.indexrelid \
             join pg_am a on a.oid = c.relam {from} where i.indrelid = to_regclass({name}) and a.amname = 'btree'"
        );
        for sql in [own, indexes] {
            let rows = session.query_within(WORK, &sql).await?;
            objects.extend(rows.iter().filter_map(|row| object(table, row)));
        }
    }
    session.close().await?;
    Ok(objects)
}

/// The object in a row: index name (null for the table), bytes, leaves, and their fill factor.
fn object(table: &str, row: &[Option<String>]) -> Option<Object> {
    let [name, Some(bytes), leaves, fill] = row else {
        return None;
    };
    Some(Object {
        leaves: leaves.as_ref().and_then(|text| text.parse().ok()),
        // An index without entries has the density NaN.
        leaf_fill: fill
            .as_ref()
            .and_then(|text| text.parse().ok())
            .filter(|fill: &f64| fill.is_finite()),
        ..Object::of(table, name.as_deref(), bytes.parse().ok()?)
    })
}
