//! Tables, columns, indexes and collations of a database.

use schemars::JsonSchema;
use serde::Serialize;

/// The parts of the catalog that the statements name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Catalog {
    /// Bytes of all tables and indexes of the database, if the engine reports them.
    pub data_bytes: Option<u64>,
    /// The tables that the statements name.
    pub tables: Vec<Table>,
    /// The foreign keys on the tables that the statements name, and on tables whose rows these keys delete or update.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foreign_keys: Vec<ForeignKey>,
    /// The views that the statements name, also through other views. Their tables count as named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub views: Vec<View>,
}

/// A view.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct View {
    /// Its name.
    pub name: String,
    /// Its schema, if a statement has to name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Its query, or the statement that created it, as the engine reports it.
    pub definition: String,
}

/// A foreign key.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct ForeignKey {
    /// The schema of the referencing table, if a statement has to name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The referencing table.
    pub table: String,
    /// Its columns.
    pub columns: Vec<String>,
    /// The approximate number of its rows, if the engine reports one without counting.
    pub rows: Option<u64>,
    /// The referenced table.
    pub parent: String,
    /// The referenced columns; empty: its primary key.
    pub parent_columns: Vec<String>,
    /// The action on a deleted row: `cascade`, `set null`, `set default`, `restrict` or `no action`.
    pub on_delete: String,
    /// The action on a changed key.
    pub on_update: String,
    /// Whether an index on the referencing table begins with these columns.
    pub indexed: bool,
}

/// A table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its schema, if a statement has to name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Its storage engine, if the engine has several.
    pub storage_engine: Option<String>,
    /// Its approximate number of rows, if the engine reports one without counting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Its columns, in order.
    pub columns: Vec<Column>,
    /// The columns of its primary key, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub primary_key: Vec<String>,
    /// Its indexes, without the key by which SQLite stores the table itself.
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
    /// The collation of its strings; null for other types, or if it is unknown.
    pub collation: Option<Collation>,
    /// Whether the engine computes its values.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub generated: bool,
}

/// An index.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Index {
    /// Its name.
    pub name: String,
    /// Its kind, as the engine names it in lower case: `btree`, `hash`, `fulltext`, `gin`.
    pub method: String,
    /// Whether it covers only some rows.
    pub partial: bool,
    /// Whether its keys are unique.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unique: bool,
    /// Whether the planner may use it: it is complete, and neither invisible nor ignored.
    pub usable: bool,
    /// Its sort key.
    pub keys: Vec<Key>,
}

/// A column of an index.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Key {
    /// The table's column; none: an expression.
    pub column: Option<String>,
    /// The collation of strings.
    pub collation: Option<Collation>,
    /// PostgreSQL's operator class.
    pub operator_class: Option<String>,
    /// The length of the prefix in characters, if it covers only a prefix.
    pub prefix: Option<u32>,
    /// Whether it is sorted in descending order.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub descending: bool,
}

/// How strings are compared and ordered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Collation {
    /// Its name; for the database's default, the name of the locale.
    pub name: String,
    /// Its provider: PostgreSQL's `libc`, `icu`, `builtin`.
    pub provider: Option<String>,
    /// Whether strings are ordered by their bytes.
    pub by_bytes: Option<bool>,
    /// Whether it is case-sensitive.
    pub regards_case: Option<bool>,
}

impl Catalog {
    /// Sets the foreign keys whose effects statements can reach. `all`: of the database; `named`: whether a statement may
    /// refer to a table.
    pub fn set_foreign_keys(&mut self, mut all: Vec<ForeignKey>, named: impl Fn(&str) -> bool) {
        let mut reached: Vec<String> = Vec::new();
        loop {
            let is_reached = |key: &ForeignKey| named(&key.parent) || reached.contains(&key.parent);
            let (found, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(is_reached);
            if found.is_empty() {
                break;
            }
            let acts = |key: &&ForeignKey| key.on_delete == "cascade" || key.on_update == "cascade";
            reached.extend(found.iter().filter(acts).map(|key| key.table.clone()));
            self.foreign_keys.extend(found);
            all = rest;
        }
    }

    /// The table with a name in the default schema; an empty one is added if necessary.
    pub fn table(&mut self, name: &str) -> &mut Table {
        self.table_in(None, name)
    }

    /// The table with a name; an empty one is added if necessary. `schema`: none if statements need not name it.
    pub fn table_in(&mut self, schema: Option<&str>, name: &str) -> &mut Table {
        let is_it = |table: &Table| table.name == name && table.schema.as_deref() == schema;
        let at = self.tables.iter().position(is_it);
        let at = at.unwrap_or_else(|| {
            self.tables.push(Table {
                name: name.to_owned(),
                schema: schema.map(str::to_owned),
                ..Table::default()
            });
            self.tables.len() - 1
        });
        &mut self.tables[at]
    }
}

impl Table {
    /// The index with a name; a usable one of that kind is added if necessary.
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
