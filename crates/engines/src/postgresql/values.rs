//! Encodes and decodes values by their types (object identifiers of `pg_type`).

use bytes::{BufMut as _, BytesMut};
use dbdyno_program::value::{Owned, Value};
use postgres_protocol::{IsNull, Oid};
use std::fmt::Write as _;

const BOOL: Oid = 16;
const BYTEA: Oid = 17;
const INT8: Oid = 20;
const INT2: Oid = 21;
const INT4: Oid = 23;
const OID: Oid = 26;
const FLOAT4: Oid = 700;
const FLOAT8: Oid = 701;
const NUMERIC: Oid = 1700;

/// Whether a parameter is sent in binary (1) or text (0) format.
#[inline]
pub fn format(oid: Oid, value: Value<'_>) -> i16 {
    let fits = match (value, oid) {
        (Value::Integer(_), INT8) => true,
        (Value::Integer(v), INT4) => i32::try_from(v).is_ok(),
        (Value::Integer(v), INT2) => i16::try_from(v).is_ok(),
        (Value::Real(_), FLOAT8) | (Value::Bytes(_), BYTEA) => true,
        _ => false,
    };
    i16::from(fits)
}

/// Writes a parameter in the format that [`format`] returns.
#[inline]
pub fn write(oid: Oid, value: Value<'_>, out: &mut BytesMut) -> IsNull {
    match (value, oid, format(oid, value)) {
        (Value::Null, ..) => return IsNull::Yes,
        (Value::Integer(v), INT8, 1) => out.put_i64(v),
        (Value::Integer(v), INT4, 1) => out.put_i32(v as i32),
        (Value::Integer(v), INT2, 1) => out.put_i16(v as i16),
        (Value::Real(v), _, 1) => out.put_f64(v),
        (Value::Bytes(v), _, 1) => out.put_slice(v),
        (Value::Text(v), ..) => out.put_slice(v.as_bytes()),
        (Value::Integer(v), ..) => {
            let _ = write!(out, "{v}");
        }
        (Value::Real(v), ..) => {
            let _ = write!(out, "{v:e}");
        }
        (Value::Bytes(v), ..) => {
            out.put_slice(b"\\x");
            for byte in v {
                let _ = write!(out, "{byte:02x}");
            }
        }
    }
    IsNull::No
}

/// Decodes a column in text format.
pub fn read(oid: Oid, text: &[u8]) -> Owned {
    let word = std::str::from_utf8(text).ok();
    let whole = || word.and_then(|word| word.parse().ok()).map(Owned::Integer);
    let real = || word.and_then(|word| word.parse().ok()).map(Owned::Real);
    let read = match oid {
        INT8 | INT4 | INT2 | OID => whole(),
        FLOAT8 | FLOAT4 | NUMERIC => real(),
        BOOL => Some(Owned::Integer(i64::from(text == b"t"))),
        BYTEA => hexadecimal(text).map(Owned::Bytes),
        _ => word.map(|word| Owned::Text(word.to_owned())),
    };
    read.unwrap_or_else(|| Owned::Bytes(text.to_vec()))
}

fn hexadecimal(text: &[u8]) -> Option<Vec<u8>> {
    let digits = text.strip_prefix(b"\\x")?;
    digits
        .chunks(2)
        .map(|pair| {
            std::str::from_utf8(pair)
                .ok()
                .and_then(|pair| u8::from_str_radix(pair, 16).ok())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(oid: Oid, value: Value<'_>) -> (i16, Vec<u8>) {
        let mut out = BytesMut::new();
        write(oid, value, &mut out);
        (format(oid, value), out.to_vec())
    }

    #[test]
    fn a_number_has_the_width_of_its_column_or_is_sent_as_text() {
        assert_eq!(written(INT8, Value::Integer(1)), (1, vec![0, 0, 0, 0, 0, 0, 0, 1]));
        assert_eq!(written(INT4, Value::Integer(-1)), (1, vec![255; 4]));
        assert_eq!(written(INT2, Value::Integer(40_000)), (0, b"40000".to_vec()));
        assert_eq!(written(NUMERIC, Value::Integer(7)), (0, b"7".to_vec()));
        assert_eq!(written(NUMERIC, Value::Real(0.25)), (0, b"2.5e-1".to_vec()));
        assert_eq!(written(25, Value::Bytes(&[1, 255])), (0, b"\\x01ff".to_vec()));
    }

    #[test]
    fn columns_are_decoded_by_type() {
        assert_eq!(read(INT4, b"-12"), Owned::Integer(-12));
        assert_eq!(read(NUMERIC, b"1.5"), Owned::Real(1.5));
        assert_eq!(read(BOOL, b"t"), Owned::Integer(1));
        assert_eq!(read(BYTEA, b"\\x01ff"), Owned::Bytes(vec![1, 255]));
        assert_eq!(read(25, "ü".as_bytes()), Owned::Text("ü".into()));
        assert_eq!(read(INT4, b"what"), Owned::Bytes(b"what".to_vec()));
    }
}
