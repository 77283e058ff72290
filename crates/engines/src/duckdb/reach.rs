//! Which statements of DuckDB lead beyond their file.

use crate::reach::{Ways, words};

/// The words by which they do.
pub const WAYS: Ways = Ways {
    beginnings: &[
        (&["attach", "export", "import", "install", "load", "use"], &[]),
        (&["copy"], &["from"]),
    ],
    leading: &[],
    unheld: &["write_blob"],
    also: copied_away,
};

/// Where COPY writes to a file.
fn copied_away(text: &str) -> Option<&'static str> {
    text.split(';')
        .any(|part| words(part).next() == Some("copy") && words(part).any(|word| word == "to"))
        .then_some("copy … to")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reach::reach;

    #[test]
    fn other_files_are_told() {
        for (sql, expected) in [
            ("attach 'app.duckdb' as app", true),
            ("select 1; copy t to 'x.csv'", true),
            ("export database 'd'", true),
            ("install httpfs", true),
            ("select copy from t", false),
            ("insert into t values ('copy t to x')", false),
        ] {
            assert_eq!(
                reach(&WAYS, &[], &[], &[sql.to_owned()])[0].is_some(),
                expected,
                "{sql}"
            );
        }
    }
}
