//! The space that tables and indexes take.

use schemars::JsonSchema;
use serde::Serialize;

/// A stored table or index.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Object {
    /// Its name.
    pub name: String,
    /// The table that it belongs to; its own name, of a table.
    pub table: String,
    /// Whether it is the table's rows or an index. A table kept in the order of its primary key is its rows.
    pub kind: ObjectKind,
    /// Bytes it takes on disk.
    pub bytes: u64,
    /// Leaf pages, if it is a tree and the engine reports them.
    pub leaves: Option<u64>,
    /// The mean share of a leaf that its entries take, 0 to 1.
    pub leaf_fill: Option<f64>,
    /// The number of leaves that `leaf_fill` covers, if it covers only those in the engine's cache.
    pub leaves_seen: Option<u64>,
}

impl Object {
    /// An index of a table (without a name: the table's rows) whose size alone is known.
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

/// The kind of a stored object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ObjectKind {
    /// Rows.
    Table,
    /// References to them.
    Index,
}
