//! Parts of a database's catalog that affect how statements are executed: tables, columns, indexes and collations.

pub use dbdyno_protocol::event::catalog::{Catalog, Collation, Column, ForeignKey, Index, Key, Table};

/// Whether a statement may refer to a table: its text contains the name.
pub fn names(sql: &str, table: &str) -> bool {
    sql.to_lowercase().contains(&table.to_lowercase())
}
