//! BSON (bsonspec.org, version 1.1): documents are read where they lie, and values written at the end of a buffer.

use bytes::{BufMut as _, BytesMut};
use dbdyno_engine::Failure;
use dbdyno_plan::document::FailureKind;
use dbdyno_plan::value::{Owned, Value};
use std::fmt::Write as _;

/// The kinds of values that are made, or looked into.
pub mod kind {
    pub const DOUBLE: u8 = 0x01;
    pub const STRING: u8 = 0x02;
    pub const DOCUMENT: u8 = 0x03;
    pub const ARRAY: u8 = 0x04;
    pub const BINARY: u8 = 0x05;
    pub const OBJECT_ID: u8 = 0x07;
    pub const BOOLEAN: u8 = 0x08;
    pub const DATE: u8 = 0x09;
    pub const NULL: u8 = 0x0a;
    pub const INT32: u8 = 0x10;
    pub const TIMESTAMP: u8 = 0x11;
    pub const INT64: u8 = 0x12;
    pub const DECIMAL: u8 = 0x13;
}

/// The bytes of an object's identifier.
pub const OBJECT_ID: usize = 12;

/// A document or an array: its fields, one after another. An array's are named `0`, `1` and so on.
#[derive(Debug, Clone, Copy)]
pub struct Document<'a>(&'a [u8]);

/// One field of a document.
#[derive(Debug, Clone, Copy)]
pub struct Field<'a> {
    pub kind: u8,
    pub name: &'a [u8],
    /// Its value's bytes; of a document or an array, with its length.
    body: &'a [u8],
}

impl<'a> Document<'a> {
    /// The document at the front of some bytes.
    #[inline]
    pub fn of(bytes: &'a [u8]) -> Result<Self, Failure> {
        let length = length(bytes).ok_or_else(garbled)?;
        match bytes.get(4..length) {
            Some([fields @ .., 0]) => Ok(Self(fields)),
            _ => Err(garbled()),
        }
    }

    /// The field of a name.
    pub fn get(self, name: &str) -> Result<Option<Field<'a>>, Failure> {
        for field in self {
            let field = field?;
            if field.name == name.as_bytes() {
                return Ok(Some(field));
            }
        }
        Ok(None)
    }

    /// The field at the end of a path of names, where there is one.
    pub fn find(self, path: &[&str]) -> Option<Field<'a>> {
        let (last, above) = path.split_last()?;
        let mut document = self;
        for name in above {
            document = document.get(name).ok()??.document()?;
        }
        document.get(last).ok()?
    }
}

impl<'a> Iterator for Document<'a> {
    type Item = Result<Field<'a>, Failure>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (kind, rest) = self.0.split_first()?;
        let field = (|| {
            let (name, rest) = c_string(rest)?;
            let (body, rest) = rest.split_at_checked(value_length(*kind, rest)?)?;
            Some((
                Field {
                    kind: *kind,
                    name,
                    body,
                },
                rest,
            ))
        })();
        match field {
            Some((field, rest)) => {
                self.0 = rest;
                Some(Ok(field))
            }
            None => {
                self.0 = &[];
                Some(Err(garbled()))
            }
        }
    }
}

impl<'a> Field<'a> {
    /// The document or array that it is.
    pub fn document(&self) -> Option<Document<'a>> {
        matches!(self.kind, kind::DOCUMENT | kind::ARRAY)
            .then(|| Document::of(self.body).ok())
            .flatten()
    }

    /// The whole number that it is; a truth value is one, and so is a number without a fraction.
    pub fn integer(&self) -> Option<i64> {
        match self.kind {
            kind::DOUBLE => self.fixed().map(f64::from_le_bytes).map(|value| value as i64),
            kind::BOOLEAN => self.body.first().map(|byte| i64::from(*byte)),
            kind::INT32 => self.fixed().map(i32::from_le_bytes).map(i64::from),
            kind::INT64 => self.fixed().map(i64::from_le_bytes),
            _ => None,
        }
    }

    /// The text that it is.
    pub fn text(&self) -> Option<&'a str> {
        let text = self.body.get(4..self.body.len().checked_sub(1)?)?;
        (self.kind == kind::STRING)
            .then(|| std::str::from_utf8(text).ok())
            .flatten()
    }

    /// The bytes that it is.
    pub fn bytes(&self) -> Option<&'a [u8]> {
        (self.kind == kind::BINARY).then(|| self.body.get(5..)).flatten()
    }

    fn fixed<const N: usize>(&self) -> Option<[u8; N]> {
        self.body.first_chunk().copied()
    }

    /// Its value as a variable has it. What no variable can be becomes text.
    pub fn value(&self) -> Owned {
        let known = match self.kind {
            kind::DOUBLE => self.fixed().map(f64::from_le_bytes).map(Owned::Real),
            kind::STRING => self.text().map(|text| Owned::Text(text.to_owned())),
            kind::BINARY => self.bytes().map(|bytes| Owned::Bytes(bytes.to_vec())),
            kind::BOOLEAN | kind::INT32 | kind::INT64 => self.integer().map(Owned::Integer),
            kind::OBJECT_ID => self.fixed().map(read_object_id),
            kind::DATE => self.fixed().map(i64::from_le_bytes).map(date).map(Owned::Text),
            kind::TIMESTAMP => self.fixed().map(i64::from_le_bytes).map(Owned::Integer),
            kind::DECIMAL => self.fixed().map(u128::from_le_bytes).map(decimal).map(Owned::Real),
            kind::DOCUMENT | kind::ARRAY => {
                let mut text = String::new();
                self.write_json(&mut text);
                Some(Owned::Text(text))
            }
            _ => None,
        };
        known.unwrap_or_default()
    }

    /// Appends it as JSON, for people to read.
    pub fn write_json(&self, out: &mut String) {
        let Some(document) = self.document() else {
            match self.value() {
                Owned::Null => out.push_str("null"),
                Owned::Boolean(value) => drop(write!(out, "{value}")),
                Owned::Integer(value) if self.kind == kind::BOOLEAN => drop(write!(out, "{}", value != 0)),
                Owned::Integer(value) => drop(write!(out, "{value}")),
                Owned::Real(value) => drop(write!(out, "{value}")),
                Owned::Text(value) => drop(write!(out, "{value:?}")),
                Owned::Bytes(value) => drop(write!(out, "\"{} bytes\"", value.len())),
            }
            return;
        };
        let is_array = self.kind == kind::ARRAY;
        out.push(if is_array { '[' } else { '{' });
        for (index, field) in document.filter_map(Result::ok).enumerate() {
            out.push_str(if index > 0 { ", " } else { "" });
            if !is_array {
                let _ = write!(out, "{:?}: ", String::from_utf8_lossy(field.name));
            }
            field.write_json(out);
        }
        out.push(if is_array { ']' } else { '}' });
    }
}

/// The number of bytes that stands before a document or a text.
fn length(bytes: &[u8]) -> Option<usize> {
    usize::try_from(i32::from_le_bytes(*bytes.first_chunk()?)).ok()
}

fn c_string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

/// How many bytes the value at the front has.
#[inline]
fn value_length(of: u8, bytes: &[u8]) -> Option<usize> {
    Some(match of {
        kind::DOCUMENT | kind::ARRAY | 0x0f => length(bytes)?,
        // Text, JavaScript, a symbol.
        kind::STRING | 0x0d | 0x0e => 4 + length(bytes)?,
        kind::DOUBLE | kind::DATE | kind::TIMESTAMP | kind::INT64 => 8,
        kind::INT32 => 4,
        kind::BOOLEAN => 1,
        // Null, no value, the smallest of keys, the largest.
        kind::NULL | 0x06 | 0xff | 0x7f => 0,
        kind::OBJECT_ID => OBJECT_ID,
        kind::BINARY => 5 + length(bytes)?,
        kind::DECIMAL => 16,
        // A regular expression: two texts that end with zeros.
        0x0b => {
            let (first, rest) = c_string(bytes)?;
            first.len() + c_string(rest)?.0.len() + 2
        }
        // A pointer into another collection.
        0x0c => 4 + length(bytes)? + OBJECT_ID,
        _ => return None,
    })
}

/// The identifier that stands for a whole number: four zeros, and the number's bytes, so that they sort alike.
pub fn object_id(value: i64) -> [u8; OBJECT_ID] {
    let mut id = [0; OBJECT_ID];
    id[4..].copy_from_slice(&value.to_be_bytes());
    id
}

/// The whole number that an identifier stands for, or its 24 digits.
fn read_object_id(id: [u8; OBJECT_ID]) -> Owned {
    match id {
        [0, 0, 0, 0, number @ ..] => Owned::Integer(i64::from_be_bytes(number)),
        _ => Owned::Text(id.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })),
    }
}

/// Milliseconds since 1970 as a text, UTC.
fn date(milliseconds: i64) -> String {
    let (seconds, rest) = (milliseconds.div_euclid(1000), milliseconds.rem_euclid(1000));
    let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // The calendar's 400 years are counted from a 1st of March ("chrono-Compatible Low-Level Date Algorithms", Hinnant).
    let shifted = days + 719_468;
    let (era, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let march = (5 * of_year + 2) / 153;
    let (of_month, month) = (
        of_year - (153 * march + 2) / 5 + 1,
        if march < 10 { march + 3 } else { march - 9 },
    );
    let year = year + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{of_month:02} {hour:02}:{minute:02}:{second:02}.{rest:03}")
}

/// A decimal number of 128 bits (IEEE 754, binary integer coefficient) as the nearest double.
fn decimal(bits: u128) -> f64 {
    let high = (bits >> 64) as u64;
    let sign = if high >> 63 == 1 { -1.0 } else { 1.0 };
    match high >> 58 & 0x1f {
        0x1f => f64::NAN,
        0x1e => sign * f64::INFINITY,
        // A coefficient of this form is more than 34 digits long, and stands for zero.
        0x18.. => sign * 0.0,
        _ => {
            let exponent = (high >> 49 & 0x3fff) as i32 - 6176;
            sign * (bits & ((1 << 113) - 1)) as f64 * 10f64.powi(exponent)
        }
    }
}

/// Begins a document; [`end`] ends it.
#[inline]
pub fn begin(out: &mut BytesMut) -> usize {
    let start = out.len();
    out.put_i32_le(0);
    start
}

/// Ends the document that begins at `start`.
#[inline]
pub fn end(start: usize, out: &mut BytesMut) {
    out.put_u8(0);
    let length = (out.len() - start) as i32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

/// Writes a field's kind and name; its value follows. The name must not hold a zero.
#[inline]
pub fn put_name(kind: u8, name: &[u8], out: &mut BytesMut) {
    out.put_u8(kind);
    out.put_slice(name);
    out.put_u8(0);
}

/// Writes a field with a text.
#[inline]
pub fn put_text(name: &[u8], text: &str, out: &mut BytesMut) {
    put_name(kind::STRING, name, out);
    out.put_i32_le(text.len() as i32 + 1);
    out.put_slice(text.as_bytes());
    out.put_u8(0);
}

/// Writes a field with a whole number.
#[inline]
pub fn put_integer(name: &[u8], value: i64, out: &mut BytesMut) {
    put_name(kind::INT64, name, out);
    out.put_i64_le(value);
}

/// Writes a field with an object's identifier.
#[inline]
pub fn put_object_id(name: &[u8], id: [u8; OBJECT_ID], out: &mut BytesMut) {
    put_name(kind::OBJECT_ID, name, out);
    out.put_slice(&id);
}

/// Writes a field with bytes.
#[inline]
pub fn put_bytes(name: &[u8], bytes: &[u8], out: &mut BytesMut) {
    put_name(kind::BINARY, name, out);
    out.put_i32_le(bytes.len() as i32);
    out.put_u8(0);
    out.put_slice(bytes);
}

/// Writes a field with a value.
#[inline]
pub fn put_value(name: &[u8], value: Value<'_>, out: &mut BytesMut) {
    match value {
        Value::Null => put_name(kind::NULL, name, out),
        Value::Integer(value) => put_integer(name, value, out),
        Value::Real(value) => {
            put_name(kind::DOUBLE, name, out);
            out.put_f64_le(value);
        }
        Value::Text(text) => put_text(name, text, out),
        Value::Bytes(bytes) => put_bytes(name, bytes, out),
    }
}

/// The failure of a server that does not speak as MongoDB's do.
#[cold]
pub fn garbled() -> Failure {
    Failure::new(
        FailureKind::Connection,
        "the server sent what is no message of MongoDB's protocol",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = Owned> {
        prop_oneof![
            Just(Owned::Null),
            any::<i64>().prop_map(Owned::Integer),
            any::<f64>()
                .prop_filter("equal to itself", |v| !v.is_nan())
                .prop_map(Owned::Real),
            "\\PC*".prop_map(Owned::Text),
            proptest::collection::vec(any::<u8>(), 0..20).prop_map(Owned::Bytes),
        ]
    }

    proptest! {
        #[test]
        fn values_are_read_as_they_were_written(values in proptest::collection::vec(("[a-z]*", value()), 0..8)) {
            let mut out = BytesMut::new();
            let start = begin(&mut out);
            values.iter().for_each(|(name, value)| put_value(name.as_bytes(), value.view(), &mut out));
            end(start, &mut out);
            let read: Vec<_> = Document::of(&out)
                .unwrap()
                .map(|field| field.map(|field| (String::from_utf8_lossy(field.name).into_owned(), field.value())).unwrap())
                .collect();
            prop_assert_eq!(read, values);
        }

        #[test]
        fn whatever_comes_is_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let mut framed = (bytes.len() as i32 + 5).to_le_bytes().to_vec();
            framed.extend(bytes);
            framed.push(0);
            for field in Document::of(&framed).unwrap().flatten() {
                field.value();
            }
        }
    }

    #[test]
    fn what_is_cut_short_is_refused() {
        assert!(Document::of(&[5, 0, 0]).is_err());
        assert!(Document::of(&[9, 0, 0, 0, 0]).is_err());
        assert!(Document::of(&[255, 255, 255, 255, 0]).is_err());
        let mut fields = Document::of(&[10, 0, 0, 0, 0x12, b'a', 0, 1, 2, 0]).unwrap();
        assert!(fields.next().unwrap().is_err());
        assert!(fields.next().is_none());
    }

    #[test]
    fn whole_numbers_are_identifiers_and_back() {
        for value in [0, 1, -1, i64::MAX, i64::MIN] {
            assert_eq!(read_object_id(object_id(value)), Owned::Integer(value));
        }
        assert_eq!(
            read_object_id([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 255]),
            Owned::Text("0102030405060708090a0bff".into())
        );
    }

    #[test]
    fn dates_and_decimals_are_read() {
        assert_eq!(date(1_709_251_198_500), "2024-02-29 23:59:58.500");
        assert_eq!(date(-1), "1969-12-31 23:59:59.999");
        assert_eq!(date(951_782_400_000), "2000-02-29 00:00:00.000");
        // 1.25 is 125 with the exponent -2.
        assert_eq!(decimal((6174 << 113) | 125), 1.25);
        assert_eq!(decimal((1 << 127) | (6177 << 113) | 5), -50.0);
        assert!(decimal(0x7c << 120).is_nan());
        assert_eq!(decimal(0x78 << 120), f64::INFINITY);
    }
}
