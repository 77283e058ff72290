//! What a session is begun with: options of MongoDB's connection strings that concern commands, and how long these may
//! take.

use super::bson::{self, kind};
use super::json::Json;
use bytes::{BufMut as _, BytesMut};

const KNOWN: &str = "authSource, journal, maxTimeMS, readConcernLevel, w, wtimeoutMS";

/// The options of a session.
#[derive(Debug, Default)]
pub struct Options {
    /// The database that knows the user.
    pub auth_source: Option<String>,
    /// Whether a write is acknowledged when it is in the journal on the device.
    pub journal: Option<bool>,
    /// How many members of a replica set must have a write: a number, or a word such as `majority`.
    pub w: Option<String>,
    write_timeout_ms: Option<i64>,
    read_concern: Option<String>,
    /// Milliseconds after which a read ends.
    max_time_ms: Option<i64>,
}

impl Options {
    /// Reads names and values. The error says what is wrong.
    pub fn read(pairs: &[(String, String)]) -> Result<Self, String> {
        let mut options = Self::default();
        for (name, value) in pairs {
            let number = || {
                value
                    .parse()
                    .map_err(|_| format!("`{name}` is a whole number, and not `{value}`"))
            };
            match name.as_str() {
                "authSource" => options.auth_source = Some(value.clone()),
                "journal" => {
                    options.journal = Some(match value.as_str() {
                        "true" | "on" | "1" => true,
                        "false" | "off" | "0" => false,
                        _ => return Err(format!("`journal` is `true` or `false`, and not `{value}`")),
                    });
                }
                "w" => options.w = Some(value.clone()),
                "wtimeoutMS" => options.write_timeout_ms = Some(number()?),
                "readConcernLevel" => options.read_concern = Some(value.clone()),
                "maxTimeMS" => options.max_time_ms = Some(number()?),
                _ => return Err(format!("there is no option `{name}`: known are {KNOWN}")),
            }
        }
        Ok(options)
    }

    /// Writes the fields that a command gets, unless its text has them.
    pub fn put(&self, name: &str, command: &Json, out: &mut BytesMut) {
        let reads = matches!(name, "find" | "aggregate" | "count" | "distinct");
        let writes = matches!(name, "insert" | "update" | "delete" | "findAndModify" | "findandmodify");
        let is_free = |field: &str| command.get(field).is_none();
        if writes && is_free("writeConcern") && (self.w.is_some() || self.journal.is_some()) {
            bson::put_name(kind::DOCUMENT, b"writeConcern", out);
            let start = bson::begin(out);
            match &self.w {
                Some(w) => match w.parse() {
                    Ok(number) => bson::put_integer(b"w", number, out),
                    Err(_) => bson::put_text(b"w", w, out),
                },
                None => bson::put_integer(b"w", 1, out),
            }
            if let Some(journal) = self.journal {
                bson::put_name(kind::BOOLEAN, b"j", out);
                out.put_u8(u8::from(journal));
            }
            if let Some(timeout) = self.write_timeout_ms {
                bson::put_integer(b"wtimeout", timeout, out);
            }
            bson::end(start, out);
        }
        if let Some(level) = self.read_concern.as_deref().filter(|_| reads && is_free("readConcern")) {
            bson::put_name(kind::DOCUMENT, b"readConcern", out);
            let start = bson::begin(out);
            bson::put_text(b"level", level, out);
            bson::end(start, out);
        }
        if let Some(most) = self.max_time_ms.filter(|_| reads && is_free("maxTimeMS")) {
            bson::put_integer(b"maxTimeMS", most, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::bson::Document;
    use super::*;

    fn put(pairs: &[(&str, &str)], name: &str, command: &str) -> String {
        let pairs: Vec<_> = pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let mut out = BytesMut::new();
        let start = bson::begin(&mut out);
        let command = serde_json::from_str(command).unwrap();
        Options::read(&pairs).unwrap().put(name, &command, &mut out);
        bson::end(start, &mut out);
        let fields = Document::of(&out).unwrap().map(|field| {
            let field = field.unwrap();
            let mut text = String::from_utf8_lossy(field.name).into_owned() + "=";
            field.write_json(&mut text);
            text
        });
        fields.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn commands_get_what_concerns_them() {
        let all = [
            ("journal", "true"),
            ("wtimeoutMS", "5"),
            ("readConcernLevel", "local"),
            ("maxTimeMS", "100"),
        ];
        assert_eq!(
            put(&all, "insert", "{}"),
            r#"writeConcern={"w": 1, "j": true, "wtimeout": 5}"#
        );
        assert_eq!(
            put(&all, "find", "{}"),
            r#"readConcern={"level": "local"} maxTimeMS=100"#
        );
        assert_eq!(put(&all, "find", r#"{"maxTimeMS": 1, "readConcern": {}}"#), "");
        assert_eq!(
            put(&[("w", "majority")], "update", "{}"),
            r#"writeConcern={"w": "majority"}"#
        );
        assert_eq!(put(&all, "create", "{}"), "");
    }

    #[test]
    fn what_is_no_option_is_told() {
        for (name, value) in [("no_such_setting", "1"), ("journal", "perhaps"), ("maxTimeMS", "x")] {
            let problem = Options::read(&[(name.into(), value.into())]).unwrap_err();
            assert!(problem.contains(name), "{problem}");
        }
    }
}
