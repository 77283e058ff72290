//! Session options: those of MongoDB's connection strings that affect commands, and their time limit.

use super::json::Json;
use bson::raw::cstr;
use bson::{RawDocumentBuf, rawdoc};

const KNOWN: &str = "authSource, journal, maxTimeMS, readConcernLevel, w, wtimeoutMS";

/// The options of a session.
#[derive(Debug, Default)]
pub struct Options {
    /// The database that contains the user.
    pub auth_source: Option<String>,
    /// Whether a write is acknowledged only once its journal is synced.
    pub journal: Option<bool>,
    /// Number of replica set members that must have a write, or a word such as `majority`.
    pub w: Option<String>,
    write_timeout_ms: Option<i64>,
    read_concern: Option<String>,
    /// Time limit for a read in milliseconds.
    max_time_ms: Option<i64>,
}

impl Options {
    /// Reads names and values. The error describes the problem.
    pub fn read(pairs: &[(String, String)]) -> Result<Self, String> {
        let mut options = Self::default();
        for (name, value) in pairs {
            let number = || {
                value
                    .parse()
                    .map_err(|_| format!("`{name}` must be an integer, not `{value}`"))
            };
            match name.as_str() {
                "authSource" => options.auth_source = Some(value.clone()),
                "journal" => {
                    options.journal = Some(match value.as_str() {
                        "true" | "on" | "1" => true,
                        "false" | "off" | "0" => false,
                        _ => return Err(format!("`journal` must be `true` or `false`, not `{value}`")),
                    });
                }
                "w" => options.w = Some(value.clone()),
                "wtimeoutMS" => options.write_timeout_ms = Some(number()?),
                "readConcernLevel" => options.read_concern = Some(value.clone()),
                "maxTimeMS" => options.max_time_ms = Some(number()?),
                _ => return Err(format!("unknown option `{name}`; known: {KNOWN}")),
            }
        }
        Ok(options)
    }

    /// The fields to add to a command, unless its text contains them.
    pub fn fields(&self, name: &str, command: &Json) -> RawDocumentBuf {
        let reads = matches!(name, "find" | "aggregate" | "count" | "distinct");
        let writes = matches!(name, "insert" | "update" | "delete" | "findAndModify" | "findandmodify");
        let is_free = |field: &str| command.get(field).is_none();
        let mut fields = RawDocumentBuf::new();
        if writes && is_free("writeConcern") && (self.w.is_some() || self.journal.is_some()) {
            let w = self.w.as_deref().unwrap_or("1");
            let mut concern = match w.parse::<i64>() {
                Ok(number) => rawdoc! {"w": number},
                Err(_) => rawdoc! {"w": w},
            };
            if let Some(journal) = self.journal {
                concern.append(cstr!("j"), journal);
            }
            if let Some(timeout) = self.write_timeout_ms {
                concern.append(cstr!("wtimeout"), timeout);
            }
            fields.append(cstr!("writeConcern"), concern);
        }
        if let Some(level) = self.read_concern.as_deref().filter(|_| reads && is_free("readConcern")) {
            fields.append(cstr!("readConcern"), rawdoc! {"level": level});
        }
        if let Some(most) = self.max_time_ms.filter(|_| reads && is_free("maxTimeMS")) {
            fields.append(cstr!("maxTimeMS"), most);
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::super::values::json;
    use super::*;

    fn fields(pairs: &[(&str, &str)], name: &str, command: &str) -> String {
        let pairs: Vec<_> = pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let command = serde_json::from_str(command).unwrap();
        json(&Options::read(&pairs).unwrap().fields(name, &command), false)
    }

    #[test]
    fn commands_get_the_options_that_apply() {
        let all = [
            ("journal", "true"),
            ("wtimeoutMS", "5"),
            ("readConcernLevel", "local"),
            ("maxTimeMS", "100"),
        ];
        assert_eq!(
            fields(&all, "insert", "{}"),
            r#"{"writeConcern": {"w": 1, "j": true, "wtimeout": 5}}"#
        );
        assert_eq!(
            fields(&all, "find", "{}"),
            r#"{"readConcern": {"level": "local"}, "maxTimeMS": 100}"#
        );
        assert_eq!(fields(&all, "find", r#"{"maxTimeMS": 1, "readConcern": {}}"#), "{}");
        assert_eq!(
            fields(&[("w", "majority")], "update", "{}"),
            r#"{"writeConcern": {"w": "majority"}}"#
        );
        assert_eq!(fields(&all, "create", "{}"), "{}");
    }

    #[test]
    fn invalid_options_are_refused() {
        for (name, value) in [("no_such_setting", "1"), ("journal", "perhaps"), ("maxTimeMS", "x")] {
            let problem = Options::read(&[(name.into(), value.into())]).unwrap_err();
            assert!(problem.contains(name), "{problem}");
        }
    }
}
