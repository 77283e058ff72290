//! Disk space of tables and indexes.

use schemars::JsonSchema;
use serde::Serialize;

/// A stored table or index.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Object {
    /// Its name.
    pub name: String,
    /// The table that it belongs to. A table belongs to itself.
    pub table: String,
    /// Table or index. A table stored in primary key order counts as a table.
    pub kind: ObjectKind,
    /// Bytes on disk.
    pub bytes: u64,
    /// Leaf pages with entries, if it is a tree and the engine reports them.
    pub leaves: Option<u64>,
    /// Mean fill factor of a leaf, 0 to 1.
    pub leaf_fill: Option<f64>,
    /// Number of leaves that `leaf_fill` covers, if only some were examined (those in the engine's cache).
    pub leaves_seen: Option<u64>,
}

impl Object {
    /// An index, or a table if `index` is `None`, of which only the size is known.
    pub fn of(table: &str, index: Option<&str>, bytes: u64) -> Self {
        Self {
            name: index.unwrap_or(table).to_owned(),
            table: table.to_owned(),
            kind: if index.is_some() {
                ObjectKind::Index
            } else {
                ObjectKind::Table
            },
            bytes,
            leaves: None,
            leaf_fill: None,
            leaves_seen: None,
        }
    }
}

/// Kind of object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ObjectKind {
    /// Table rows.
    Table,
    /// Index entries.
    Index,
}
