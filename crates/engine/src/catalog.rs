//! Parts of a database's catalog that affect how statements are executed: tables, columns, indexes and collations.

pub use dbdyno_protocol::event::catalog::{Catalog, Collation, Column, ForeignKey, Index, Key, Table, View};

/// Whether a statement may refer to a table: its text contains the name.
pub fn names(sql: &str, table: &str) -> bool {
    sql.to_lowercase().contains(&table.to_lowercase())
}

/// Returns the views that statements may refer to, also through other views, and adds their definitions to `texts`.
///
/// `texts`: the statements.
pub fn named_views(mut all: Vec<View>, texts: &mut Vec<String>) -> Vec<View> {
    let mut found = Vec::new();
    loop {
        let (named, rest): (Vec<_>, Vec<_>) = all
            .into_iter()
            .partition(|view| texts.iter().any(|text| names(text, &view.name)));
        if named.is_empty() {
            return found;
        }
        texts.extend(named.iter().map(|view| view.definition.clone()));
        found.extend(named);
        all = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(name: &str, definition: &str) -> View {
        View {
            name: name.into(),
            definition: definition.into(),
            ..View::default()
        }
    }

    #[test]
    fn views_are_found_through_other_views() {
        let all = vec![
            view("inner", "select a from t"),
            view("outer_view", "select a from INNER"),
            view("other", "select b from u"),
        ];
        let mut texts = vec!["select * from outer_view".to_owned()];
        let found = named_views(all, &mut texts);
        let names: Vec<_> = found.iter().map(|each| each.name.as_str()).collect();
        assert_eq!(names, ["outer_view", "inner"]);
        assert_eq!(texts.len(), 3);
    }
}
