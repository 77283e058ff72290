//! Which statements of SQL Server lead beyond their database.

use crate::reach::{Ways, nothing_else};

/// The words by which they do.
pub const WAYS: Ways = Ways {
    beginnings: &[
        (
            &["create", "alter", "drop"],
            &[
                "login",
                "database",
                "server",
                "endpoint",
                "credential",
                "availability",
                "resource",
            ],
        ),
        (&["backup", "kill", "reconfigure", "restore", "shutdown", "use"], &[]),
        (
            &["exec", "execute"],
            &["sp_configure", "xp_cmdshell", "sp_addlogin", "sp_attach_db"],
        ),
    ],
    leading: &["opendatasource", "openquery", "openrowset"],
    unheld: &[],
    also: nothing_else,
};
