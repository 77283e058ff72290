//! Decodes BSON in place for the load (bsonspec.org, version 1.1): fields are skipped without decoding, and rows are
//! counted by their lengths.
//!
//! The raw documents of the crate `bson` verify each name and length. Reading a response of one row would take 2.6
//! times as long, and of a hundred rows 5 times. Code outside the load uses that crate.

use super::values::{self, garbled};
use bson::oid::ObjectId;
use bson::spec::ElementType;
use bson::{Decimal128, RawDocument};
use dbdyno_engine::Failure;
use dbdyno_program::value::Owned;

/// BSON type codes.
pub mod kind {
    use super::ElementType;

    pub const DOUBLE: u8 = ElementType::Double as u8;
    pub const STRING: u8 = ElementType::String as u8;
    pub const DOCUMENT: u8 = ElementType::EmbeddedDocument as u8;
    pub const ARRAY: u8 = ElementType::Array as u8;
    pub const BINARY: u8 = ElementType::Binary as u8;
    pub const UNDEFINED: u8 = ElementType::Undefined as u8;
    pub const OBJECT_ID: u8 = ElementType::ObjectId as u8;
    pub const BOOLEAN: u8 = ElementType::Boolean as u8;
    pub const DATE: u8 = ElementType::DateTime as u8;
    pub const NULL: u8 = ElementType::Null as u8;
    pub const REGULAR_EXPRESSION: u8 = ElementType::RegularExpression as u8;
    pub const DB_POINTER: u8 = ElementType::DbPointer as u8;
    pub const CODE: u8 = ElementType::JavaScriptCode as u8;
    pub const SYMBOL: u8 = ElementType::Symbol as u8;
    pub const CODE_WITH_SCOPE: u8 = ElementType::JavaScriptCodeWithScope as u8;
    pub const INT32: u8 = ElementType::Int32 as u8;
    pub const TIMESTAMP: u8 = ElementType::Timestamp as u8;
    pub const INT64: u8 = ElementType::Int64 as u8;
    pub const DECIMAL: u8 = ElementType::Decimal128 as u8;
    pub const MAX_KEY: u8 = ElementType::MaxKey as u8;
    pub const MIN_KEY: u8 = ElementType::MinKey as u8;
}

/// Size of an ObjectId in bytes.
pub const OBJECT_ID: usize = 12;

/// A document or an array: a sequence of fields. An array's fields are named `0`, `1` and so on.
#[derive(Debug, Clone, Copy)]
pub struct Document<'a>(&'a [u8]);

/// One field of a document.
#[derive(Debug, Clone, Copy)]
pub struct Field<'a> {
    pub kind: u8,
    pub name: &'a [u8],
    /// The bytes of its value; for a document or an array, including its length.
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

    /// The field at the end of a path of names, if it exists.
    pub fn find(self, path: &[&str]) -> Option<Field<'a>> {
        let (last, above) = path.split_last()?;
        let mut document = self;
        for name in above {
            document = document.field(name)?.document()?;
        }
        document.field(last)
    }

    fn field(self, name: &str) -> Option<Field<'a>> {
        self.map_while(Result::ok).find(|field| field.name == name.as_bytes())
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
    /// The field as a document or array.
    pub fn document(&self) -> Option<Document<'a>> {
        matches!(self.kind, kind::DOCUMENT | kind::ARRAY)
            .then(|| Document::of(self.body).ok())
            .flatten()
    }

    /// The field as an integer. Booleans and doubles are converted.
    pub fn integer(&self) -> Option<i64> {
        match self.kind {
            kind::DOUBLE => self.fixed().map(f64::from_le_bytes).map(|value| value as i64),
            kind::BOOLEAN => self.body.first().map(|byte| i64::from(*byte)),
            kind::INT32 => self.fixed().map(i32::from_le_bytes).map(i64::from),
            kind::INT64 => self.fixed().map(i64::from_le_bytes),
            _ => None,
        }
    }

    /// The field as a string.
    pub fn text(&self) -> Option<&'a str> {
        let text = self.body.get(4..self.body.len().checked_sub(1)?)?;
        (self.kind == kind::STRING)
            .then(|| std::str::from_utf8(text).ok())
            .flatten()
    }

    fn fixed<const N: usize>(&self) -> Option<[u8; N]> {
        self.body.first_chunk().copied()
    }

    /// Its value for a variable. Types without an equivalent become text.
    pub fn value(&self) -> Owned {
        let known = match self.kind {
            kind::DOUBLE => self.fixed().map(f64::from_le_bytes).map(Owned::Real),
            kind::STRING => self.text().map(|text| Owned::Text(text.to_owned())),
            kind::BINARY => self.body.get(5..).map(|bytes| Owned::Bytes(bytes.to_vec())),
            kind::BOOLEAN | kind::INT32 | kind::INT64 => self.integer().map(Owned::Integer),
            kind::TIMESTAMP => self.fixed().map(i64::from_le_bytes).map(Owned::Integer),
            kind::OBJECT_ID => self.fixed().map(ObjectId::from_bytes).map(values::of_object_id),
            kind::DATE => self.fixed().map(i64::from_le_bytes).map(values::of_date),
            kind::DECIMAL => self.fixed().map(Decimal128::from_bytes).map(values::of_decimal),
            kind::DOCUMENT | kind::ARRAY => RawDocument::from_bytes(self.body)
                .ok()
                .map(|document| Owned::Text(values::json(document, self.kind == kind::ARRAY))),
            _ => None,
        };
        known.unwrap_or_default()
    }
}

/// The length prefix of a document or a string.
fn length(bytes: &[u8]) -> Option<usize> {
    usize::try_from(i32::from_le_bytes(*bytes.first_chunk()?)).ok()
}

fn c_string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

/// Length in bytes of the value at the front.
#[inline]
fn value_length(kind_code: u8, bytes: &[u8]) -> Option<usize> {
    Some(match kind_code {
        kind::DOCUMENT | kind::ARRAY | kind::CODE_WITH_SCOPE => length(bytes)?,
        kind::STRING | kind::CODE | kind::SYMBOL => 4 + length(bytes)?,
        kind::DOUBLE | kind::DATE | kind::TIMESTAMP | kind::INT64 => 8,
        kind::INT32 => 4,
        kind::BOOLEAN => 1,
        kind::NULL | kind::UNDEFINED | kind::MIN_KEY | kind::MAX_KEY => 0,
        kind::OBJECT_ID => OBJECT_ID,
        kind::BINARY => 5 + length(bytes)?,
        kind::DECIMAL => 16,
        // Two NUL-terminated strings.
        kind::REGULAR_EXPRESSION => {
            let (first, rest) = c_string(bytes)?;
            first.len() + c_string(rest)?.0.len() + 2
        }
        kind::DB_POINTER => 4 + length(bytes)? + OBJECT_ID,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::encode;
    use super::*;
    use bytes::BytesMut;
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
        fn values_survive_a_round_trip(values in proptest::collection::vec(("[a-z]*", value()), 0..8)) {
            let mut out = BytesMut::new();
            let start = encode::begin(&mut out);
            values.iter().for_each(|(name, value)| encode::value(name.as_bytes(), value.view(), &mut out));
            encode::end(start, &mut out);
            let read: Vec<_> = Document::of(&out)
                .unwrap()
                .map(|field| field.map(|field| (String::from_utf8_lossy(field.name).into_owned(), field.value())).unwrap())
                .collect();
            prop_assert_eq!(read, values);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let mut framed = (bytes.len() as i32 + 5).to_le_bytes().to_vec();
            framed.extend(bytes);
            framed.push(0);
            for field in Document::of(&framed).unwrap().flatten() {
                field.value();
            }
        }
    }

    #[test]
    fn truncated_documents_are_refused() {
        assert!(Document::of(&[5, 0, 0]).is_err());
        assert!(Document::of(&[9, 0, 0, 0, 0]).is_err());
        assert!(Document::of(&[255, 255, 255, 255, 0]).is_err());
        let mut fields = Document::of(&[10, 0, 0, 0, 0x12, b'a', 0, 1, 2, 0]).unwrap();
        assert!(fields.next().unwrap().is_err());
        assert!(fields.next().is_none());
    }
}
