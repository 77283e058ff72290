//! Which statements of SQLite lead to another file.

use crate::reach::{Ways, nothing_else};

/// The words by which they do.
pub const WAYS: Ways = Ways {
    beginnings: &[(&["attach"], &[]), (&["vacuum"], &["into"])],
    leading: &[],
    unheld: &[],
    also: nothing_else,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reach::reach;

    #[test]
    fn other_files_are_told() {
        for (sql, expected) in [
            ("attach 'app.db' as app", true),
            ("select 1; /* a */ ATTACH 'app.db' as app", true),
            ("attach ':memory:' as m", false),
            ("vacuum into 'app.db'", true),
            ("vacuum", false),
            ("insert into attach values (1)", false),
        ] {
            assert_eq!(
                reach(&WAYS, &[], &[], &[sql.to_owned()])[0].is_some(),
                expected,
                "{sql}"
            );
        }
    }
}
