//! Commands: JSON that is converted to BSON once, with placeholders for its parameters.

use super::json::Json;
use super::options::Options;
use super::parts::{Builder, Form, Part};
use super::{encode, values};
use bson::oid::ObjectId;
use bytes::{BufMut as _, BytesMut};
use dbdyno_engine::{Failure, check_count};
use dbdyno_program::value::{Value, Values};
use dbdyno_protocol::plan::document::FailureKind;

/// A command, ready to be sent with parameter values.
#[derive(Debug)]
pub struct Command {
    parts: Vec<Part>,
    parameters: usize,
    /// The kind of response.
    pub answer: Answer,
    /// The columns of its rows.
    pub columns: Columns,
    /// The batch size, if the text specifies it.
    pub batch: Option<i64>,
}

/// How a response represents rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Its `n` is a row with one column.
    Count,
    /// Its `n` is the number of documents inserted, matched for an update, or deleted.
    Changes,
    /// Each of its `values` is a row with one column.
    Values,
    /// Its `value` is a document, or null.
    Value,
    /// The documents of its cursor, if any, are rows.
    Cursor,
}

/// Which fields of a document are columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Columns {
    /// The fields named by the projection, in its order. A missing field is null.
    Named(Vec<String>),
    /// All fields except `_id`, in document order.
    AsTheyCome,
}

impl Command {
    /// Parses a command. The error describes the problem.
    pub fn new(text: &str, database: &str, options: &Options) -> Result<Self, String> {
        let json = read(text)?;
        Self::of(&json, database, options)
    }

    /// The command that returns the query plan of another command; `None` if that one doesn't only read documents.
    /// Updates are left out, because FerretDB explains them as a search without a filter. A count is explained as a
    /// find, for the same reason.
    pub fn explaining(text: &str, database: &str) -> Option<Self> {
        let mut json = read(text).ok()?;
        let Json::Object(fields) = &mut json else {
            return None;
        };
        match fields.first_mut()? {
            (name, _) if name == "count" => {
                "find".clone_into(name);
                for (name, _) in fields {
                    if name == "query" {
                        "filter".clone_into(name);
                    }
                }
            }
            (name, _) if name == "find" || name == "aggregate" => {}
            _ => return None,
        }
        let explain = Json::Object(vec![
            ("explain".into(), json),
            ("verbosity".into(), Json::Text("queryPlanner".into())),
        ]);
        Self::of(&explain, database, &Options::default()).ok()
    }

    fn of(json: &Json, database: &str, options: &Options) -> Result<Self, String> {
        let Json::Object(fields) = json else {
            return Err("a command must be an object, such as {\"ping\": 1}".into());
        };
        let (name, _) = fields.first().ok_or("a command needs a field with its name")?;
        if let Some((own, _)) = fields.iter().find(|(field, _)| field == "$db") {
            return Err(format!("`{own}` is set by the target"));
        }
        let mut builder = Builder::default();
        builder.open(fields, |builder| {
            encode::fields(&options.fields(name, json), &mut builder.bytes);
            encode::text(b"$db", database, &mut builder.bytes);
        })?;
        builder.cut();
        let batch = json.get("batchSize").or_else(|| json.get("cursor")?.get("batchSize"));
        Ok(Self {
            parts: builder.parts,
            parameters: builder.parameters,
            answer: match name.as_str() {
                "count" => Answer::Count,
                "insert" | "update" | "delete" => Answer::Changes,
                "distinct" => Answer::Values,
                "findAndModify" | "findandmodify" => Answer::Value,
                _ => Answer::Cursor,
            },
            columns: columns(json),
            batch: match batch {
                Some(Json::Integer(batch)) if *batch > 0 => Some(*batch),
                _ => None,
            },
        })
    }

    /// Number of parameters.
    pub fn parameters(&self) -> usize {
        self.parameters
    }

    /// Writes its document with parameter values. `opened` is a reusable buffer.
    #[inline]
    pub fn write(&self, values: &Values, opened: &mut Vec<usize>, out: &mut BytesMut) -> Result<(), Failure> {
        check_count(self.parameters, values.len())?;
        opened.clear();
        let mut values = values.iter();
        for part in &self.parts {
            match part {
                Part::Bytes(bytes) => out.put_slice(bytes),
                Part::Open => opened.push(encode::begin(out)),
                Part::Close => {
                    if let Some(start) = opened.pop() {
                        encode::end(start, out);
                    }
                }
                Part::Place(name, form) => {
                    let value = values.next().unwrap_or(Value::Null);
                    put_formed(name, *form, value, out)?;
                }
            }
        }
        Ok(())
    }
}

fn read(text: &str) -> Result<Json, String> {
    serde_json::from_str(text).map_err(|error| format!("not a command in JSON: {error}"))
}

#[inline]
fn put_formed(name: &[u8], form: Form, value: Value<'_>, out: &mut BytesMut) -> Result<(), Failure> {
    match (form, value) {
        (Form::Value, value) | (_, value @ Value::Null) => encode::value(name, value, out),
        (Form::ObjectId, Value::Integer(value)) => encode::object_id(name, values::object_id(value), out),
        (Form::ObjectId, Value::Text(text)) => match ObjectId::parse_str(text) {
            Ok(id) => encode::object_id(name, id, out),
            Err(_) => {
                return Err(unfit("an ObjectId must be an integer or 24 hexadecimal digits"));
            }
        },
        (Form::Date, Value::Integer(value)) => encode::date(name, value, out),
        (Form::ObjectId, _) => {
            return Err(unfit("an ObjectId must be an integer or 24 hexadecimal digits"));
        }
        (Form::Date, _) => return Err(unfit("a date must be an integer number of milliseconds since 1970")),
    }
    Ok(())
}

/// The columns of the rows. An inclusive projection names them.
fn columns(json: &Json) -> Columns {
    let last_of_pipeline = || match json.get("pipeline")? {
        Json::List(stages) => stages.iter().rev().find_map(|stage| stage.get("$project")),
        _ => None,
    };
    let projection = json
        .get("projection")
        .or_else(|| json.get("fields"))
        .or_else(last_of_pipeline);
    let Some(Json::Object(fields)) = projection else {
        return Columns::AsTheyCome;
    };
    let named: Vec<String> = fields
        .iter()
        .filter(|(_, value)| value.is_true())
        .map(|(name, _)| name.clone())
        .collect();
    if named.is_empty() {
        return Columns::AsTheyCome;
    }
    Columns::Named(named)
}

#[cold]
fn unfit(why: &str) -> Failure {
    Failure::new(FailureKind::Other, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str, values: &[Value<'_>]) -> Result<String, Failure> {
        let command = Command::new(text, "d", &Options::default()).unwrap();
        let mut given = Values::default();
        values.iter().for_each(|value| given.push(*value));
        let mut out = BytesMut::from(&b"before"[..]);
        command.write(&given, &mut Vec::new(), &mut out)?;
        let document = out.split_off(6);
        Ok(values::json(values::document(&document)?, false))
    }

    #[test]
    fn values_replace_their_placeholders() {
        let find = r#"{"find": "foo", "filter": {"i": "?", "s": {"$gte": "?", "$lt": "x"}}, "limit": 2}"#;
        assert_eq!(
            written(find, &[Value::Integer(7), Value::Text("ü")]).unwrap(),
            r#"{"find": "foo", "filter": {"i": 7, "s": {"$gte": "ü", "$lt": "x"}}, "limit": 2, "$db": "d"}"#
        );
        let update = r#"{"update": "foo", "updates": [{"q": {"_id": {"$oid": "?"}}, "u": {"$inc": {"n": 1}}}]}"#;
        assert_eq!(
            written(update, &[Value::Integer(5)]).unwrap(),
            r#"{"update": "foo", "updates": [{"q": {"_id": 5}, "u": {"$inc": {"n": 1}}}], "$db": "d"}"#
        );
        let insert = r#"{"insert": "foo", "documents": [{"a": "?", "b": null}, {"a": "?", "b": true}]}"#;
        assert_eq!(
            written(insert, &[Value::Real(0.5), Value::Null]).unwrap(),
            r#"{"insert": "foo", "documents": [{"a": 0.5, "b": null}, {"a": null, "b": true}], "$db": "d"}"#
        );
    }

    #[test]
    fn the_number_and_the_kind_of_values_must_fit() {
        let find = r#"{"find": "foo", "filter": {"_id": {"$oid": "?"}}}"#;
        assert!(written(find, &[]).unwrap_err().message.contains("1 parameter"));
        for value in [Value::Text("x"), Value::Real(0.5)] {
            assert!(written(find, &[value]).unwrap_err().message.contains("24 hexadecimal"));
        }
        let id = "0102030405060708090a0bff";
        assert!(written(find, &[Value::Text(id)]).unwrap().contains(id));
        let at = r#"{"find": "foo", "filter": {"t": {"$date": "?"}}}"#;
        assert!(written(at, &[Value::Integer(0)]).unwrap().contains("1970-01-01 00:00"));
        assert!(written(at, &[Value::Text("today")]).is_err());
    }

    #[test]
    fn invalid_commands_are_refused() {
        for (text, words) in [
            ("select 1", "not a command in JSON"),
            ("[]", "an object"),
            ("{}", "a field with its name"),
            (r#"{"ping": 1, "$db": "x"}"#, "$db"),
            (r#"{"find": "t", "filter": {"_id": {"$oid": "12"}}}"#, "24 hexadecimal"),
            (
                r#"{"find": "t", "filter": {"n": {"$numberLong": "x"}}}"#,
                "integer as a string",
            ),
        ] {
            let problem = Command::new(text, "d", &Options::default()).unwrap_err();
            assert!(problem.contains(words), "{problem}");
        }
    }

    #[test]
    fn columns_follow_the_projection() {
        let columns = |text| Command::new(text, "d", &Options::default()).unwrap().columns;
        let named = |names: &[&str]| Columns::Named(names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(columns(r#"{"find": "t"}"#), Columns::AsTheyCome);
        assert_eq!(
            columns(r#"{"find": "t", "projection": {"s": 1, "_id": 0, "i": true}}"#),
            named(&["s", "i"])
        );
        assert_eq!(columns(r#"{"find": "t", "projection": {"b": 0}}"#), Columns::AsTheyCome);
        assert_eq!(
            columns(r#"{"aggregate": "t", "pipeline": [{"$match": {}}, {"$project": {"_id": 1, "n": "$x"}}]}"#),
            named(&["_id", "n"])
        );
    }
}
