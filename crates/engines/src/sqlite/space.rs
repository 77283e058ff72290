//! Sizes of tables and indexes, from SQLite's virtual table `dbstat`, which reads the whole file.

use super::{SqliteEngine, SqliteTarget, Watch};
use dbdyno_engine::Failure;
use dbdyno_protocol::event::Object;
use dbdyno_protocol::plan::document::PrepareMode;

/// The usable space of a leaf excludes its header of 8 bytes (<https://sqlite.org/fileformat2.html#b_tree_pages>).
const LEAVES: &str = "select s.name, m.tbl_name, m.type, sum(s.pgsize), sum(s.pagetype = 'leaf'), \
     1 - sum(case when s.pagetype = 'leaf' then s.unused end) * 1.0 / sum(case when s.pagetype = 'leaf' then s.pgsize - 8 end) \
     from dbstat s join sqlite_master m on m.name = s.name group by s.name";

/// Reads the sizes. A library without `dbstat` returns none.
pub fn space(target: &SqliteTarget, tables: &[String]) -> Result<Vec<Object>, Failure> {
    let engine = SqliteEngine::new(target, &[], PrepareMode::Once, Watch::default())?;
    let mut session = engine.open()?;
    let mut objects = Vec::new();
    session.query(LEAVES, |row| {
        if let [name, table, kind, bytes, leaves, fill] = row
            && tables.contains(table)
            && let Ok(bytes) = bytes.parse()
        {
            objects.push(Object {
                leaves: leaves.parse().ok(),
                leaf_fill: fill.parse().ok(),
                ..Object::of(table, (kind == "index").then_some(name), bytes)
            });
        }
    })?;
    Ok(objects)
}
