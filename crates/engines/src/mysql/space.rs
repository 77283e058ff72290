//! Sizes of tables and indexes in InnoDB: sizes from its statistics, the fill factor of leaves from its buffer pool.

use super::DIALECT;
use super::session::MysqlSession;
use crate::server::ServerTarget;
use crate::sql_text::{backquoted, write_literal};
use dbdyno_engine::time_limits::WORK;
use dbdyno_engine::{Failure, Session as _};
use dbdyno_program::value::Value;
use dbdyno_protocol::event::Object;
use dbdyno_protocol::plan::document::PrepareMode;

/// Reads the sizes after updating the statistics. A user without access to InnoDB's statistics only gets the table
/// sizes.
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
            // Rows are stored in the primary key, or without one in a hidden clustered index.
            let own = index == "PRIMARY" || index == "GEN_CLUST_INDEX";
            let mut made = Object::of(table, (!own).then_some(index.as_str()), bytes);
            made.leaves = leaves.as_ref().and_then(|text| text.parse().ok());
            let mut tree = String::new();
            write_literal(Value::Text(index), &DIALECT, &mut tree);
            // The usable space of a leaf is a little less than the page (about 200 of 16,384 bytes for headers, trailer
            // and directory), which is ignored here. Inner pages, about one in 300, are included.
            let seen = format!(
                "select count(*), avg(data_size) / @@innodb_page_size from information_schema.innodb_buffer_page \
                 where table_name = concat('`', database(), '`.`', {name}, '`') and index_name = {tree} and number_records > 0"
            );
            if let Ok(rows) = session.query_within(WORK, &seen).await
                && let Some([Some(count), Some(fill)]) = rows.first().map(Vec::as_slice)
            {
                made.leaf_fill = fill.parse().ok();
                made.leaves_seen = count.parse().ok();
                // The statistics of a small tree may report a single leaf.
                made.leaves = made.leaves.map(|leaves| leaves.max(made.leaves_seen.unwrap_or(0)));
            }
            objects.push(made);
        }
    }
    session.close().await?;
    Ok(objects)
}
