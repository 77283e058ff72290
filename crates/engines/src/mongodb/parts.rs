//! Splits a command into fixed BSON bytes and placeholders for parameters.

use super::decode::kind;
use super::encode;
use super::json::Json;
use bson::oid::ObjectId;
use bytes::{BufMut as _, BytesMut};
use dbdyno_program::value::Value;

/// The placeholder for a parameter in a command's text.
const PLACE: &str = "?";

/// A part of a command's document.
#[derive(Debug)]
pub enum Part {
    /// Fixed bytes.
    Bytes(BytesMut),
    /// Begins a document whose length depends on the parameters. Its type and name have been written.
    Open,
    /// Ends the innermost such document.
    Close,
    /// A field with this name and the next parameter as its value.
    Place(Vec<u8>, Form),
}

/// The BSON type of a parameter.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// The type of the value.
    Value,
    /// An ObjectId.
    ObjectId,
    /// A date in milliseconds since 1970.
    Date,
}

/// Converts JSON to parts.
#[derive(Default)]
pub struct Builder {
    /// The finished parts.
    pub parts: Vec<Part>,
    /// Fixed bytes that don't form a part yet.
    pub bytes: BytesMut,
    /// Number of parameters so far.
    pub parameters: usize,
}

impl Builder {
    /// Ends the current run of fixed bytes.
    pub fn cut(&mut self) {
        if !self.bytes.is_empty() {
            self.parts.push(Part::Bytes(self.bytes.split()));
        }
    }

    /// Writes a document of unknown length. `append` adds fields at its end.
    pub fn open(&mut self, fields: &[(String, Json)], append: impl FnOnce(&mut Self)) -> Result<(), String> {
        self.cut();
        self.parts.push(Part::Open);
        for (name, value) in fields {
            self.field(name.as_bytes(), value)?;
        }
        append(self);
        self.cut();
        self.parts.push(Part::Close);
        Ok(())
    }

    fn field(&mut self, name: &[u8], value: &Json) -> Result<(), String> {
        match value {
            Json::Null => encode::field(kind::NULL, name, &mut self.bytes),
            Json::Boolean(value) => {
                encode::field(kind::BOOLEAN, name, &mut self.bytes);
                self.bytes.put_u8(u8::from(*value));
            }
            // The shortest type, like MongoDB's own tools.
            Json::Integer(value) => match i32::try_from(*value) {
                Ok(short) => {
                    encode::field(kind::INT32, name, &mut self.bytes);
                    self.bytes.put_i32_le(short);
                }
                Err(_) => encode::integer(name, *value, &mut self.bytes),
            },
            Json::Real(value) => encode::value(name, Value::Real(*value), &mut self.bytes),
            Json::Text(text) if text == PLACE => self.place(name, Form::Value),
            Json::Text(text) => encode::text(name, text, &mut self.bytes),
            Json::List(items) => {
                let numbered = items
                    .iter()
                    .enumerate()
                    .map(|(at, item)| (at.to_string(), item.clone()));
                self.document(kind::ARRAY, name, &numbered.collect::<Vec<_>>())?;
            }
            Json::Object(fields) => match &fields[..] {
                [(sign, value)] if sign.starts_with('$') => {
                    if !self.extended(name, sign, value)? {
                        self.document(kind::DOCUMENT, name, fields)?;
                    }
                }
                _ => self.document(kind::DOCUMENT, name, fields)?,
            },
        }
        Ok(())
    }

    fn place(&mut self, name: &[u8], form: Form) {
        self.cut();
        self.parts.push(Part::Place(name.to_vec(), form));
        self.parameters += 1;
    }

    fn document(&mut self, kind: u8, name: &[u8], fields: &[(String, Json)]) -> Result<(), String> {
        encode::field(kind, name, &mut self.bytes);
        if fields.iter().any(|(_, value)| has_places(value)) {
            return self.open(fields, |_| {});
        }
        let start = encode::begin(&mut self.bytes);
        for (name, value) in fields {
            self.field(name.as_bytes(), value)?;
        }
        encode::end(start, &mut self.bytes);
        Ok(())
    }

    /// Writes a value of an extended type ("MongoDB Extended JSON (v2)"). Returns false if it isn't one.
    fn extended(&mut self, name: &[u8], sign: &str, value: &Json) -> Result<bool, String> {
        let wrong = |what: &str| Err(format!("`{sign}`: {what}"));
        match (sign, value) {
            ("$oid", Json::Text(text)) if text == PLACE => self.place(name, Form::ObjectId),
            ("$oid", Json::Text(text)) => match ObjectId::parse_str(text) {
                Ok(id) => encode::object_id(name, id, &mut self.bytes),
                Err(_) => return wrong("write 24 hexadecimal digits, or \"?\""),
            },
            ("$oid", _) => return wrong("write 24 hexadecimal digits, or \"?\""),
            ("$date", Json::Text(text)) if text == PLACE => self.place(name, Form::Date),
            ("$date", Json::Integer(value)) => encode::date(name, *value, &mut self.bytes),
            ("$date", _) => return wrong("write milliseconds since 1970, or \"?\""),
            ("$numberLong", Json::Text(text)) => match text.parse() {
                Ok(value) => encode::integer(name, value, &mut self.bytes),
                Err(_) => return wrong("write an integer as a string"),
            },
            ("$numberDouble", Json::Text(text)) => match text.parse() {
                Ok(value) => encode::value(name, Value::Real(value), &mut self.bytes),
                Err(_) => return wrong("write a number as a string"),
            },
            // An operator such as `$inc`, or unknown.
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn has_places(json: &Json) -> bool {
    match json {
        Json::Text(text) => text == PLACE,
        Json::List(items) => items.iter().any(has_places),
        Json::Object(fields) => fields.iter().any(|(_, value)| has_places(value)),
        _ => false,
    }
}
