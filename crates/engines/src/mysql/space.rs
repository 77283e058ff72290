//! The space that tables and indexes take, as InnoDB tells: sizes by its statistics, the fill of leaves by those in its
//! buffer pool.

use super::DIALECT;
use super::session::MysqlSession;
use crate::server::ServerTarget;
use crate::sql_text::{backquoted, write_literal};
use dbdyno_engine::patience::WORK;
use dbdyno_engine::space::Object;
use dbdyno_engine::{Failure, Session as _};
use dbdyno_plan::document::PrepareMode;
use dbdyno_program::value::Value;

/// Reads it, once the statistics are as the tables are now. A user who may not see InnoDB's gets the tables' alone.
pub async fn space(target: &ServerTarget, tables: &[String]) -> Result<Vec<Object>, Failure> {
    let mut session = MysqlSession::open(target, Vec::new().into(), PrepareMode::Never).await?;
    let mut objects = Vec::new();
    for table in tables {
        let mut name = String::new();
        write_literal(Value::Text(table), &DIALECT, &mut name);
        let analyze = format!("analyze table {}", backquoted(table));
        session.query_within(WORK, &analyze).await?;
        let trees = format!(
            "select index_name, max(case when stat_name = 'size' then stat_value end) * @@innodb_page_size, \
             max(case when stat_name = 'n_leaf_pages' then stat_value end) from mysql.innodb_index_stats \
             where database_name = database() and table_name = {name} group by index_name"
        );
        let Ok(rows) = session.query(&trees).await else {
            let whole = format!(
                "select table_name, data_length + index_length from information_schema.tables \
                 where table_schema = database() and table_name = {name}"
            );
            let rows = session.query(&whole).await?;
            objects.extend(rows.iter().filter_map(|row| {
                let [_, Some(bytes)] = row.as_slice() else { return None };
                Some(Object::of(table, None, bytes.parse().ok()?))
            }));
            continue;
        };
        for row in &rows {
            let [Some(index), Some(bytes), leaves] = row.as_slice() else {
                continue;
            };
            let Ok(bytes) = bytes.parse() else { continue };
            // The rows are kept in the primary key, or where there is none in an index of InnoDB's own.
            let own = index == "PRIMARY" || index == "GEN_CLUST_INDEX";
            let mut made = Object::of(table, (!own).then_some(index.as_str()), bytes);
            made.leaves = leaves.as_ref().and_then(|text| text.parse().ok());
            let mut tree = String::new();
            write_literal(Value::Text(index), &DIALECT, &mut tree);
            // A leaf's room is the page without its headers, trailer and directory: some 200 of 16,384 bytes, which are
            // not taken off. Pages above the leaves are among them, about one in 300.
            let seen = format!(
                "select count(*), avg(data_size) / @@innodb_page_size from information_schema.innodb_buffer_page \
                 where table_name = concat('`', database(), '`.`', {name}, '`') and index_name = {tree} and number_records > 0"
            );
            if let Ok(rows) = session.query_within(WORK, &seen).await
                && let Some([Some(count), Some(fill)]) = rows.first().map(Vec::as_slice)
            {
                made.leaf_fill = fill.parse().ok();
                made.leaves_seen = count.parse().ok();
                // Statistics of a small tree may say that it has one leaf.
                made.leaves = made.leaves.map(|leaves| leaves.max(made.leaves_seen.unwrap_or(0)));
            }
            objects.push(made);
        }
    }
    session.close().await?;
    Ok(objects)
}
