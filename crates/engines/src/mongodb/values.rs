//! Converts BSON values for variables and for display, and navigates raw documents of the crate `bson`.

use bson::oid::ObjectId;
use bson::{Bson, DateTime, Decimal128, RawBsonRef, RawDocument};
use dbdyno_engine::Failure;
use dbdyno_program::value::Owned;
use dbdyno_protocol::plan::document::FailureKind;
use std::fmt::Write as _;

/// Interprets bytes as a document.
pub fn document(bytes: &[u8]) -> Result<&RawDocument, Failure> {
    RawDocument::from_bytes(bytes).map_err(|_| garbled())
}

/// The value at the end of a path of names, if it exists.
pub fn find<'a>(document: &'a RawDocument, path: &[&str]) -> Option<RawBsonRef<'a>> {
    let (last, above) = path.split_last()?;
    let mut document = document;
    for name in above {
        document = document.get(name).ok()??.as_document()?;
    }
    document.get(last).ok()?
}

/// The value as an integer. Booleans and doubles are converted.
pub fn integer(value: RawBsonRef<'_>) -> Option<i64> {
    match value {
        RawBsonRef::Double(value) => Some(value as i64),
        RawBsonRef::Boolean(value) => Some(value.into()),
        RawBsonRef::Int32(value) => Some(value.into()),
        RawBsonRef::Int64(value) => Some(value),
        _ => None,
    }
}

/// The ObjectId that represents an integer: four zero bytes and the big-endian integer, so that the order is preserved.
pub fn object_id(value: i64) -> ObjectId {
    let mut id = [0; 12];
    id[4..].copy_from_slice(&value.to_be_bytes());
    ObjectId::from_bytes(id)
}

/// The integer that an ObjectId represents, or its 24 digits.
pub fn of_object_id(id: ObjectId) -> Owned {
    match id.bytes() {
        [0, 0, 0, 0, number @ ..] => Owned::Integer(i64::from_be_bytes(number)),
        _ => Owned::Text(id.to_hex()),
    }
}

/// Milliseconds since 1970 as text in UTC.
pub fn of_date(milliseconds: i64) -> Owned {
    let time = DateTime::from_millis(milliseconds).to_time_0_3();
    let (date, hour, minute, second) = (time.date(), time.hour(), time.minute(), time.second());
    let rest = time.millisecond();
    Owned::Text(format!("{date} {hour:02}:{minute:02}:{second:02}.{rest:03}"))
}

/// A decimal number as the nearest double.
pub fn of_decimal(decimal: Decimal128) -> Owned {
    decimal.to_string().parse().map(Owned::Real).unwrap_or_default()
}

/// A document or array as JSON for display. The `bson` crate's own conversion sorts names or doesn't escape strings.
pub fn json(document: &RawDocument, is_array: bool) -> String {
    let mut out = String::new();
    write_document(document, is_array, &mut out);
    out
}

/// A value for display: strings without quotes, other values as JSON.
pub fn shown(value: RawBsonRef<'_>) -> String {
    let mut out = String::new();
    match value {
        RawBsonRef::String(text) => out.push_str(text),
        value => write_json(value, &mut out),
    }
    out
}

fn write_document(document: &RawDocument, is_array: bool, out: &mut String) {
    out.push(if is_array { '[' } else { '{' });
    for (index, (name, value)) in document.iter().flatten().enumerate() {
        out.push_str(if index > 0 { ", " } else { "" });
        if !is_array {
            let _ = write!(out, "{:?}: ", name.as_str());
        }
        write_json(value, out);
    }
    out.push(if is_array { ']' } else { '}' });
}

fn write_json(value: RawBsonRef<'_>, out: &mut String) {
    let value = match value {
        RawBsonRef::Document(document) => return write_document(document, false, out),
        RawBsonRef::Array(array) => match RawDocument::from_bytes(array.as_bytes()) {
            Ok(document) => return write_document(document, true, out),
            Err(_) => Owned::Null,
        },
        RawBsonRef::String(text) => Owned::Text(text.to_owned()),
        RawBsonRef::Binary(binary) => Owned::Text(format!("{} bytes", binary.bytes.len())),
        RawBsonRef::ObjectId(id) => of_object_id(id),
        RawBsonRef::DateTime(date) => of_date(date.timestamp_millis()),
        value => {
            let _ = Bson::try_from(value).map(|value| write!(out, "{value}"));
            return;
        }
    };
    let _ = match value {
        Owned::Integer(value) => write!(out, "{value}"),
        Owned::Text(text) => write!(out, "{text:?}"),
        _ => Ok(()),
    };
}

/// The failure if the server doesn't follow MongoDB's protocol.
#[cold]
pub fn garbled() -> Failure {
    Failure::new(FailureKind::Connection, "the server sent an invalid MongoDB message")
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::rawdoc;

    #[test]
    fn integers_convert_to_object_ids_and_back() {
        for value in [0, 1, -1, i64::MAX, i64::MIN] {
            assert_eq!(of_object_id(object_id(value)), Owned::Integer(value));
        }
        assert_eq!(
            of_object_id(ObjectId::from_bytes([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 255])),
            Owned::Text("0102030405060708090a0bff".into())
        );
    }

    #[test]
    fn dates_and_decimals_are_read() {
        assert_eq!(
            of_date(1_709_251_198_500),
            Owned::Text("2024-02-29 23:59:58.500".into())
        );
        assert_eq!(of_date(-1), Owned::Text("1969-12-31 23:59:59.999".into()));
        let decimal = |text: &str| of_decimal(text.parse().unwrap());
        assert_eq!(decimal("1.25"), Owned::Real(1.25));
        assert_eq!(decimal("-5E+1"), Owned::Real(-50.0));
        assert_eq!(decimal("Infinity"), Owned::Real(f64::INFINITY));
        assert!(matches!(decimal("NaN"), Owned::Real(value) if value.is_nan()));
    }

    #[test]
    fn documents_are_displayed_as_json() {
        let document = rawdoc! {
            "a": [1, true, null, 0.5], "b": {"c": "say \"x\""}, "d": DateTime::from_millis(0), "e": object_id(7), "f": {}
        };
        assert_eq!(
            json(&document, false),
            r#"{"a": [1, true, null, 0.5], "b": {"c": "say \"x\""}, "d": "1970-01-01 00:00:00.000", "e": 7, "f": {}}"#
        );
        assert_eq!(shown(RawBsonRef::String("as it is")), "as it is");
    }

    #[test]
    fn paths_are_followed_to_values() {
        let document = rawdoc! {"a": {"b": 3.0}, "n": true};
        assert_eq!(find(&document, &["a", "b"]).and_then(integer), Some(3));
        assert_eq!(find(&document, &["n"]).and_then(integer), Some(1));
        assert!(find(&document, &["a", "c"]).is_none());
        assert!(find(&document, &["n", "c"]).is_none());
    }
}
