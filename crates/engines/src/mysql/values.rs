//! Encodes and decodes values ("Binary Protocol Resultset Row", "COM_STMT_EXECUTE").

use super::wire::{counted, garbled, put_number};
use bytes::{Buf as _, BufMut as _, BytesMut};
use dbdyno_engine::{Capture, Failure};
use dbdyno_program::value::{Owned, Value, Values};
use std::fmt::Write as _;

// Types of columns and parameters (enum_field_types).
const DECIMAL: u8 = 0;
const TINY: u8 = 1;
const SHORT: u8 = 2;
const LONG: u8 = 3;
const FLOAT: u8 = 4;
const DOUBLE: u8 = 5;
const NULL: u8 = 6;
const TIMESTAMP: u8 = 7;
const LONGLONG: u8 = 8;
const INT24: u8 = 9;
const DATE: u8 = 10;
const TIME: u8 = 11;
const DATETIME: u8 = 12;
const YEAR: u8 = 13;
const VARCHAR: u8 = 15;
const JSON: u8 = 245;
const NEWDECIMAL: u8 = 246;
const TINY_BLOB: u8 = 249;
const BLOB: u8 = 252;
const VAR_STRING: u8 = 253;
const STRING: u8 = 254;

/// The flag of a column or parameter type that is unsigned.
const UNSIGNED: u16 = 0x20;

/// The collation `binary` of binary columns.
const BINARY: u16 = 63;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    kind: u8,
    flags: u16,
    collation: u16,
    /// Fractional digits, also of seconds.
    decimals: u8,
}

impl Column {
    /// Reads a column definition. The type is at its end, after names of variable length.
    pub fn read(body: &[u8]) -> Result<Self, Failure> {
        let Some([0x0c, c0, c1, _, _, _, _, kind, f0, f1, decimals, _, _]) = body.last_chunk::<13>() else {
            return Err(garbled());
        };
        Ok(Self {
            kind: *kind,
            flags: u16::from_le_bytes([*f0, *f1]),
            collation: u16::from_le_bytes([*c0, *c1]),
            decimals: *decimals,
        })
    }

    /// Whether its values are binary.
    pub fn is_bytes(&self) -> bool {
        self.collation == BINARY && matches!(self.kind, VARCHAR | TINY_BLOB..=STRING)
    }
}

/// Appends the parameters of an execution: the null bitmap, the types if they differ from `bound` (known to the server
/// from the last execution), and the values.
#[inline]
pub fn bind(values: &Values, bound: &mut Vec<u8>, out: &mut BytesMut) {
    let count = values.len();
    if count == 0 {
        return;
    }
    let nulls = out.len();
    out.put_bytes(0, count.div_ceil(8));
    let mut known = bound.len() == count;
    bound.resize(count, NULL);
    for (at, (value, bound)) in values.iter().zip(bound.iter_mut()).enumerate() {
        let kind = match value {
            Value::Integer(_) => LONGLONG,
            Value::Real(_) => DOUBLE,
            Value::Text(_) => VAR_STRING,
            Value::Bytes(_) => BLOB,
            Value::Null => {
                out[nulls + at / 8] |= 1 << (at % 8);
                // The type of a null doesn't matter, so it can stay.
                *bound
            }
        };
        known &= kind == *bound;
        *bound = kind;
    }
    out.put_u8(u8::from(!known));
    if !known {
        for kind in bound {
            out.put_u16_le(u16::from(*kind));
        }
    }
    for value in values.iter() {
        match value {
            Value::Null => {}
            Value::Integer(v) => out.put_i64_le(v),
            Value::Real(v) => out.put_f64_le(v),
            Value::Text(v) => put_counted(v.as_bytes(), out),
            Value::Bytes(v) => put_counted(v, out),
        }
    }
}

#[inline]
fn put_counted(bytes: &[u8], out: &mut BytesMut) {
    put_number(bytes.len() as u64, out);
    out.put_slice(bytes);
}

/// Captures the columns of a row in the binary protocol.
pub fn take_binary(row: &[u8], columns: &[Column], capture: &mut Capture<'_>) -> Result<(), Failure> {
    // A zero byte, and a bitmap with two unused bits before the columns.
    let nulls = (columns.len() + 9) / 8;
    let (nulls, mut rest) = row
        .get(1..)
        .and_then(|row| row.split_at_checked(nulls))
        .ok_or_else(garbled)?;
    for (at, column) in columns.iter().enumerate().take(capture.len()) {
        let bit = at + 2;
        if nulls[bit / 8] & 1 << (bit % 8) != 0 {
            capture.take(at, Value::Null);
        } else {
            binary(column, &mut rest, |value| capture.take(at, value))?;
        }
    }
    Ok(())
}

/// Reads a binary value from the front of a row.
fn binary(column: &Column, rest: &mut &[u8], take: impl FnOnce(Value<'_>)) -> Result<(), Failure> {
    let unsigned = column.flags & UNSIGNED != 0;
    let width = match column.kind {
        TINY => 1,
        SHORT | YEAR => 2,
        LONG | INT24 | FLOAT => 4,
        LONGLONG | DOUBLE => 8,
        DATE | DATETIME | TIMESTAMP | TIME => {
            let fields = counted(rest)?;
            let text = moment(column, fields)?;
            take(Value::Text(&text));
            return Ok(());
        }
        _ => {
            take(said(column, counted(rest)?).view());
            return Ok(());
        }
    };
    if rest.len() < width {
        return Err(garbled());
    }
    take(match column.kind {
        FLOAT => Value::Real(f64::from(rest.get_f32_le())),
        DOUBLE => Value::Real(rest.get_f64_le()),
        _ if unsigned => {
            let value = rest.get_uint_le(width);
            i64::try_from(value).map_or(Value::Real(value as f64), Value::Integer)
        }
        _ => Value::Integer(rest.get_int_le(width)),
    });
    Ok(())
}

/// A date or time formatted as in the text protocol. Trailing zeros are not sent.
fn moment(column: &Column, fields: &[u8]) -> Result<String, Failure> {
    let mut text = String::new();
    let byte = |at: usize| fields.get(at).copied().unwrap_or(0);
    let word = |at: usize| u32::from_le_bytes([byte(at), byte(at + 1), byte(at + 2), byte(at + 3)]);
    let (seconds, micros) = if column.kind == TIME {
        if !matches!(fields.len(), 0 | 8 | 12) {
            return Err(garbled());
        }
        let sign = if byte(0) == 1 { "-" } else { "" };
        let hours = u64::from(word(1)) * 24 + u64::from(byte(5));
        let _ = write!(text, "{sign}{hours:02}:{:02}", byte(6));
        (byte(7), word(8))
    } else {
        if !matches!(fields.len(), 0 | 4 | 7 | 11) {
            return Err(garbled());
        }
        let year = u16::from_le_bytes([byte(0), byte(1)]);
        let _ = write!(text, "{year:04}-{:02}-{:02}", byte(2), byte(3));
        if column.kind == DATE {
            return Ok(text);
        }
        let _ = write!(text, " {:02}:{:02}", byte(4), byte(5));
        (byte(6), word(7))
    };
    let _ = write!(text, ":{seconds:02}");
    let digits = usize::from(column.decimals);
    if (1..=6).contains(&digits) {
        let micros = format!("{micros:06}");
        let _ = write!(text, ".{}", &micros[..digits]);
    }
    Ok(text)
}

/// Captures the columns of a row in the text protocol.
pub fn take_text(row: &[u8], columns: &[Column], capture: &mut Capture<'_>) -> Result<(), Failure> {
    let mut rest = row;
    for (at, column) in columns.iter().enumerate().take(capture.len()) {
        match field(&mut rest)? {
            None => capture.take(at, Value::Null),
            Some(text) => capture.take(at, said(column, text).view()),
        }
    }
    Ok(())
}

/// Reads a field from the front of a row in the text protocol.
pub fn field<'a>(rest: &mut &'a [u8]) -> Result<Option<&'a [u8]>, Failure> {
    if let Some((0xfb, behind)) = rest.split_first() {
        *rest = behind;
        return Ok(None);
    }
    counted(rest).map(Some)
}

/// Converts a value of the text protocol.
fn said(column: &Column, text: &[u8]) -> Owned {
    let word = std::str::from_utf8(text).ok();
    let real = || word.and_then(|word| word.parse().ok()).map(Owned::Real);
    let read = match column.kind {
        TINY | SHORT | LONG | LONGLONG | INT24 | YEAR => word
            .and_then(|word| word.parse().ok())
            .map(Owned::Integer)
            .or_else(real),
        FLOAT | DOUBLE | DECIMAL | NEWDECIMAL => real(),
        DATE | DATETIME | TIMESTAMP | TIME | JSON => word.map(|word| Owned::Text(word.to_owned())),
        _ if column.collation == BINARY => None,
        _ => word.map(|word| Owned::Text(word.to_owned())),
    };
    read.unwrap_or_else(|| Owned::Bytes(text.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_engine::Wanted;

    fn values(list: &[Value<'_>]) -> Values {
        let mut values = Values::default();
        list.iter().for_each(|value| values.push(*value));
        values
    }

    fn bound(list: &[Value<'_>], types: &mut Vec<u8>) -> Vec<u8> {
        let mut out = BytesMut::new();
        bind(&values(list), types, &mut out);
        out.to_vec()
    }

    #[test]
    fn types_are_sent_if_they_changed() {
        let mut types = Vec::new();
        let first = bound(&[Value::Integer(1), Value::Text("ab")], &mut types);
        assert_eq!(first, [0, 1, 8, 0, 253, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, b'a', b'b']);
        let second = bound(&[Value::Integer(-1), Value::Null], &mut types);
        assert_eq!(second, [2, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
        let third = bound(&[Value::Integer(-1), Value::Bytes(&[7])], &mut types);
        assert_eq!(third[..6], [0, 1, 8, 0, 252, 0]);
        assert!(bound(&[], &mut Vec::new()).is_empty());
    }

    #[test]
    fn a_type_is_sent_with_the_first_value_after_nulls() {
        let mut types = Vec::new();
        assert_eq!(bound(&[Value::Null], &mut types), [1, 1, 6, 0]);
        assert_eq!(bound(&[Value::Null], &mut types), [1, 0]);
        assert_eq!(bound(&[Value::Real(0.0)], &mut types)[..4], [0, 1, 5, 0]);
    }

    fn column(kind: u8, flags: u16, collation: u16, decimals: u8) -> Column {
        Column {
            kind,
            flags,
            collation,
            decimals,
        }
    }

    fn taken(
        columns: &[Column],
        row: &[u8],
        read: impl Fn(&[u8], &[Column], &mut Capture<'_>) -> Result<(), Failure>,
    ) -> Vec<Owned> {
        let slots: Vec<usize> = (0..columns.len()).collect();
        let mut variables = vec![Owned::Integer(-1); columns.len()];
        let wanted = &mut Wanted {
            slots: &slots,
            variables: &mut variables,
            every: None,
        };
        read(row, columns, &mut Capture::new(wanted)).unwrap();
        variables
    }

    #[test]
    fn a_binary_row_has_the_types_of_its_columns() {
        let columns = [
            column(TINY, 0, BINARY, 0),
            column(TINY, UNSIGNED, BINARY, 0),
            column(VAR_STRING, 0, 45, 0),
            column(LONG, 0, BINARY, 0),
            column(BLOB, 0, BINARY, 0),
            column(NEWDECIMAL, 0, BINARY, 2),
            column(DATETIME, 0, BINARY, 3),
            column(DATE, 0, BINARY, 0),
            column(TIME, 0, BINARY, 0),
            column(LONGLONG, UNSIGNED, BINARY, 0),
        ];
        let mut row = vec![0, 0b10_0000, 0, 255, 255, 2, 0xc3, 0xbc, 1, 0xff, 4];
        row.extend_from_slice(b"1.50");
        row.extend_from_slice(&[11, 0xe8, 0x07, 2, 29, 23, 59, 58, 0x40, 0xe2, 0x01, 0]);
        row.extend_from_slice(&[4, 0xe8, 0x07, 1, 2]);
        row.extend_from_slice(&[8, 1, 2, 0, 0, 0, 3, 4, 5]);
        row.extend_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(
            taken(&columns, &row, take_binary),
            [
                Owned::Integer(-1),
                Owned::Integer(255),
                Owned::Text("ü".into()),
                Owned::Null,
                Owned::Bytes(vec![255]),
                Owned::Real(1.5),
                Owned::Text("2024-02-29 23:59:58.123".into()),
                Owned::Text("2024-01-02".into()),
                Owned::Text("-51:04:05".into()),
                Owned::Real(u64::MAX as f64),
            ]
        );
    }

    #[test]
    fn a_text_row_has_the_types_of_its_columns() {
        let columns = [
            column(LONGLONG, 0, BINARY, 0),
            column(BLOB, 0, BINARY, 0),
            column(VAR_STRING, 0, 45, 0),
            column(DOUBLE, 0, BINARY, 31),
        ];
        let row = b"\x02-5\x01\xff\xfb\x031e3";
        assert_eq!(
            taken(&columns, row, take_text),
            [
                Owned::Integer(-5),
                Owned::Bytes(vec![255]),
                Owned::Null,
                Owned::Real(1000.0)
            ]
        );
    }
}
