//! The space that tables and indexes take.

use schemars::JsonSchema;
use serde::Serialize;

/// A table or an index, as an engine stores it.
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
    /// Pages with entries, if it is a tree, where the engine tells.
    pub leaves: Option<u64>,
    /// The mean share of a leaf that its entries take, 0 to 1.
    pub leaf_fill: Option<f64>,
    /// How many leaves `leaf_fill` is of, where those are not all: the ones in the engine's cache.
    pub leaves_seen: Option<u64>,
}

impl Object {
    /// An index of a table, or where none is named the table's rows, of which no more is known than the bytes.
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

/// What is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ObjectKind {
    /// Rows.
    Table,
    /// References to them.
    Index,
}
