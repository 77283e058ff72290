//! Tables, columns, indexes and collations of a database.

use schemars::JsonSchema;
use serde::Serialize;

/// The catalogue, as far as statements name what is in it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Catalog {
    /// Bytes of the whole database's tables and indexes, as far as the engine tells.
    pub data_bytes: Option<u64>,
    /// The tables whose names stand in the statements.
    pub tables: Vec<Table>,
}

/// A table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// What stores it, where an engine has several kinds of that.
    pub storage_engine: Option<String>,
    /// About how many rows it has, as far as the engine tells without counting them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Its columns, in order.
    pub columns: Vec<Column>,
    /// Its indexes. A key that SQLite keeps the table itself by is none.
    pub indexes: Vec<Index>,
}

/// A column.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type, as it was declared.
    #[serde(rename = "type")]
    pub kind: String,
    /// How its texts are compared; none where they are no texts, or it is not known.
    pub collation: Option<Collation>,
}

/// An index.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Index {
    /// Its name.
    pub name: String,
    /// What kind it is, in the engine's words and small letters: `btree`, `hash`, `fulltext`, `gin`.
    pub method: String,
    /// Whether it holds only rows of some kind.
    pub partial: bool,
    /// Whether it may be used: it is whole, and neither invisible nor ignored.
    pub usable: bool,
    /// What it is sorted by.
    pub keys: Vec<Key>,
}

/// A column of an index.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Key {
    /// The table's column; none: an expression.
    pub column: Option<String>,
    /// How texts are ordered.
    pub collation: Option<Collation>,
    /// PostgreSQL's operator class.
    pub operator_class: Option<String>,
    /// The characters it is of, where it is not of all.
    pub prefix: Option<u32>,
}

/// How texts are compared and ordered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Collation {
    /// Its name; of a database's own, the locale's.
    pub name: String,
    /// Where it comes from: PostgreSQL's `libc`, `icu`, `builtin`.
    pub provider: Option<String>,
    /// Whether texts are ordered as their bytes are.
    pub by_bytes: Option<bool>,
    /// Whether capital letters differ from small ones.
    pub regards_case: Option<bool>,
}

impl Catalog {
    /// The table of a name; where there is none yet, an empty one.
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
    /// The index of a name; where there is none yet, one of that kind that may be used.
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
