//! Parts of a database's catalog that affect how statements are executed: tables, columns, indexes and collations.

use schemars::JsonSchema;
use serde::Serialize;

/// The catalog entries that the statements refer to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Catalog {
    /// Bytes of all tables and indexes in the database, if the engine reports it.
    pub data_bytes: Option<u64>,
    /// The tables named in the statements.
    pub tables: Vec<Table>,
}

/// A table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// The storage engine, if the system has several.
    pub storage_engine: Option<String>,
    /// Approximate row count, if the engine has one without counting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Its columns, in order.
    pub columns: Vec<Column>,
    /// Its indexes, except the key by which SQLite stores the table itself.
    pub indexes: Vec<Index>,
}

/// A column.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its declared type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The collation of a text column, if known.
    pub collation: Option<Collation>,
}

/// An index.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Index {
    /// Its name.
    pub name: String,
    /// The index method in lower case, as the engine names it: `btree`, `hash`, `fulltext`, `gin`.
    pub method: String,
    /// Whether it contains only rows that satisfy a condition.
    pub partial: bool,
    /// Whether the planner can use it: valid, and neither invisible nor ignored.
    pub usable: bool,
    /// Its sort keys.
    pub keys: Vec<Key>,
}

/// A sort key of an index.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Key {
    /// The table's column; null for an expression.
    pub column: Option<String>,
    /// Collation of the key.
    pub collation: Option<Collation>,
    /// PostgreSQL's operator class.
    pub operator_class: Option<String>,
    /// Number of indexed characters, if only a prefix is indexed.
    pub prefix: Option<u32>,
}

/// How text is compared and ordered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Collation {
    /// Its name; for a database's default collation, the locale's name.
    pub name: String,
    /// Its provider: PostgreSQL's `libc`, `icu` or `builtin`.
    pub provider: Option<String>,
    /// Whether text is ordered by bytes.
    pub by_bytes: Option<bool>,
    /// Whether comparisons are case-sensitive.
    pub regards_case: Option<bool>,
}

impl Catalog {
    /// The table with this name, which is added if it is missing.
    pub fn table(&mut self, name: &str) -> &mut Table {
        let at = self.tables.iter().position(|table| table.name == name);
        let at = at.unwrap_or_else(|| {
            self.tables.push(Table {
                name: name.to_owned(),
                ..Table::default()
            });
            self.tables.len() - 1
        });
        &mut self.tables[at]
    }
}

impl Table {
    /// The index with this name. If it is missing, a usable index with this method is added.
    pub fn index(&mut self, name: &str, method: &str) -> &mut Index {
        let at = self.indexes.iter().position(|index| index.name == name);
        let at = at.unwrap_or_else(|| {
            self.indexes.push(Index {
                name: name.to_owned(),
                method: method.to_lowercase(),
                usable: true,
                ..Index::default()
            });
            self.indexes.len() - 1
        });
        &mut self.indexes[at]
    }
}

/// Whether a statement may refer to a table: its text contains the name.
pub fn names(sql: &str, table: &str) -> bool {
    sql.to_lowercase().contains(&table.to_lowercase())
}
