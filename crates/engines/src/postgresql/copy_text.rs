//! Rows in COPY's text format.

use bytes::{BufMut as _, BytesMut};
use dbdyno_program::value::Value;

/// Approximate size in bytes of the messages with rows.
pub(super) const MESSAGE: usize = 64 * 1024;

/// Moves rows to a message, if there are any.
pub(super) fn put_rows(text: &mut Vec<u8>, out: &mut BytesMut) {
    if !text.is_empty() {
        out.put_u8(b'd');
        out.put_u32(text.len() as u32 + 4);
        out.put_slice(text);
        text.clear();
    }
}

/// Writes a row in COPY's text format.
pub(super) fn line<'a>(values: impl Iterator<Item = Value<'a>>, out: &mut Vec<u8>) {
    use std::io::Write as _;
    for (column, value) in values.enumerate() {
        if column > 0 {
            out.push(b'\t');
        }
        // Writing to memory cannot fail.
        let _ = match value {
            Value::Null => out.write_all(b"\\N"),
            Value::Integer(v) => write!(out, "{v}"),
            Value::Real(v) => write!(out, "{v:e}"),
            Value::Bytes(v) => out
                .write_all(b"\\\\x")
                .and_then(|()| v.iter().try_for_each(|byte| write!(out, "{byte:02x}"))),
            Value::Text(v) => {
                escape(v.as_bytes(), out);
                Ok(())
            }
        };
    }
    out.push(b'\n');
}

fn escape(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = rest
        .iter()
        .position(|byte| matches!(byte, b'\\' | b'\t' | b'\n' | b'\r'))
    {
        out.extend_from_slice(&rest[..at]);
        out.push(b'\\');
        out.push(match rest[at] {
            b'\t' => b't',
            b'\n' => b'n',
            b'\r' => b'r',
            other => other,
        });
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_program::value::Values;

    #[test]
    fn a_row_is_one_line_for_any_text() {
        let mut values = Values::default();
        for value in [
            Value::Integer(-3),
            Value::Null,
            Value::Text("a\tb\\c\nd"),
            Value::Bytes(&[0, 171]),
            Value::Real(0.5),
        ] {
            values.push(value);
        }
        let mut out = Vec::new();
        line(values.iter(), &mut out);
        assert_eq!(
            String::from_utf8_lossy(&out),
            "-3\t\\N\ta\\tb\\\\c\\nd\t\\\\x00ab\t5e-1\n"
        );
    }
}
