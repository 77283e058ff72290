//! Templates of requests: parsed once, and filled with values at each use. A value is encoded as its position requires.

use bytes::{BufMut as _, BytesMut};
use dbdyno_engine::Failure;
use dbdyno_program::value::{Value, Values};
use dbdyno_protocol::plan::document::FailureKind;
use std::io::Write as _;

/// A part of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Bytes as they are.
    Bytes(Box<[u8]>),
    /// The parameter with this number.
    Place(usize, Form),
}

/// How a value is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// In a path or a query: all but the unreserved characters as `%XX` (RFC 3986, 2.3).
    Percent,
    /// In a form: the same, and a space as `+` (WHATWG URL, application/x-www-form-urlencoded).
    Field,
    /// In a header field: as it is; it can hold no end of a line.
    Header,
    /// As it is.
    Raw,
    /// A JSON value (RFC 8259).
    Json,
    /// Within a string of JSON.
    Within,
}

/// Builds parts, adjacent bytes together.
#[derive(Debug, Default)]
pub struct Parts(pub Vec<Part>);

impl Parts {
    /// Appends bytes.
    pub fn bytes(&mut self, more: &[u8]) {
        if more.is_empty() {
            return;
        }
        if let Some(Part::Bytes(last)) = self.0.last_mut() {
            *last = [last, more].concat().into_boxed_slice();
        } else {
            self.0.push(Part::Bytes(more.into()));
        }
    }

    /// Appends a place for a parameter.
    pub fn place(&mut self, parameter: usize, form: Form) {
        self.0.push(Part::Place(parameter, form));
    }

    /// Appends other parts.
    pub fn append(&mut self, parts: &[Part]) {
        for part in parts {
            match part {
                Part::Bytes(bytes) => self.bytes(bytes),
                Part::Place(parameter, form) => self.place(*parameter, *form),
            }
        }
    }

    /// The bytes, if the parts contain no parameter.
    pub fn fixed(&self) -> Option<&[u8]> {
        match &self.0[..] {
            [] => Some(&[]),
            [Part::Bytes(bytes)] => Some(bytes),
            _ => None,
        }
    }
}

/// Writes parts with the values in their places.
#[inline]
pub fn fill(parts: &[Part], values: &Values, out: &mut BytesMut) -> Result<(), Failure> {
    for part in parts {
        match part {
            Part::Bytes(bytes) => out.extend_from_slice(bytes),
            Part::Place(parameter, form) => put(values.get(*parameter).unwrap_or(Value::Null), *form, out)?,
        }
    }
    Ok(())
}

fn put(value: Value<'_>, form: Form, out: &mut BytesMut) -> Result<(), Failure> {
    match value {
        Value::Null => {
            if form == Form::Json {
                out.extend_from_slice(b"null");
            }
        }
        Value::Integer(number) => out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes()),
        Value::Real(number) => put_real(number, form, out),
        Value::Text(text) => put_bytes(text.as_bytes(), form, out)?,
        Value::Bytes(bytes) => match form {
            // JSON cannot hold bytes, so they are encoded in base64.
            Form::Json | Form::Within => {
                let text = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, bytes);
                put_bytes(text.as_bytes(), form, out)?;
            }
            _ => put_bytes(bytes, form, out)?,
        },
    }
    Ok(())
}

fn put_real(number: f64, form: Form, out: &mut BytesMut) {
    if form == Form::Json && !number.is_finite() {
        out.extend_from_slice(b"null");
        return;
    }
    // The shortest form that parses to the same number. It contains no character that must be encoded.
    let _ = write!(out.writer(), "{number:?}");
}

fn put_bytes(bytes: &[u8], form: Form, out: &mut BytesMut) -> Result<(), Failure> {
    match form {
        Form::Raw => out.extend_from_slice(bytes),
        Form::Percent => percent(bytes, false, out),
        Form::Field => percent(bytes, true, out),
        Form::Header => {
            if bytes.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
                let problem = "a value for a header field has the end of a line in it";
                return Err(Failure::new(FailureKind::Other, problem));
            }
            out.extend_from_slice(bytes);
        }
        Form::Json => {
            out.put_u8(b'"');
            escape(bytes, out);
            out.put_u8(b'"');
        }
        Form::Within => escape(bytes, out),
    }
    Ok(())
}

/// Percent-encodes bytes for a path or a query.
pub fn percent(bytes: &[u8], plus: bool, out: &mut BytesMut) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in bytes {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.put_u8(*byte),
            b' ' if plus => out.put_u8(b'+'),
            byte => {
                let digits = [b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
                out.extend_from_slice(&digits);
            }
        }
    }
}

/// Escapes a string for JSON.
fn escape(text: &[u8], out: &mut BytesMut) {
    let mut written = 0;
    for (at, byte) in text.iter().enumerate() {
        let short: Option<&[u8]> = match byte {
            b'"' => Some(b"\\\""),
            b'\\' => Some(b"\\\\"),
            b'\n' => Some(b"\\n"),
            b'\r' => Some(b"\\r"),
            b'\t' => Some(b"\\t"),
            0..0x20 => None,
            _ => continue,
        };
        out.extend_from_slice(&text[written..at]);
        match short {
            Some(short) => out.extend_from_slice(short),
            None => {
                let _ = write!(out.writer(), "\\u{byte:04x}");
            }
        }
        written = at + 1;
    }
    out.extend_from_slice(&text[written..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_program::value::Owned;
    use proptest::prelude::*;

    fn filled(value: Value<'_>, form: Form) -> Result<Vec<u8>, Failure> {
        let mut values = Values::default();
        values.push(value);
        let mut out = BytesMut::new();
        fill(&[Part::Place(0, form)], &values, &mut out)?;
        Ok(out.to_vec())
    }

    /// Decodes percent-encoding.
    fn decoded(bytes: &[u8], plus: bool) -> Vec<u8> {
        let mut out = Vec::new();
        let mut rest = bytes.iter();
        while let Some(byte) = rest.next() {
            out.push(match byte {
                b'%' => {
                    let digits = [*rest.next().unwrap(), *rest.next().unwrap()];
                    u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
                }
                b'+' if plus => b' ',
                byte => *byte,
            });
        }
        out
    }

    proptest! {
        #[test]
        fn what_is_percent_encoded_comes_back(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            for (form, plus) in [(Form::Percent, false), (Form::Field, true)] {
                let out = filled(Value::Bytes(&bytes), form).unwrap();
                prop_assert!(out.iter().all(|byte| byte.is_ascii_graphic() && !b"/?#&=".contains(byte)));
                prop_assert_eq!(decoded(&out, plus), bytes.clone());
            }
        }

        #[test]
        fn what_is_written_as_json_comes_back(text in ".*", number: i64, real in -1e300f64..1e300) {
            for (value, form) in [(Value::Text(&text), Form::Json), (Value::Integer(number), Form::Json), (Value::Real(real), Form::Json)] {
                let read: serde_json::Value = serde_json::from_slice(&filled(value, form).unwrap()).unwrap();
                match value {
                    Value::Text(text) => prop_assert_eq!(read.as_str(), Some(text)),
                    Value::Integer(number) => prop_assert_eq!(read.as_i64(), Some(number)),
                    _ => prop_assert_eq!(read.as_f64(), Some(real)),
                }
            }
            let within = [b"\"a".to_vec(), filled(Value::Text(&text), Form::Within).unwrap(), b"b\"".to_vec()].concat();
            prop_assert_eq!(serde_json::from_slice::<String>(&within).unwrap(), format!("a{text}b"));
        }

        #[test]
        fn a_header_field_never_has_two_lines(text in "(?s).*") {
            match filled(Value::Text(&text), Form::Header) {
                Ok(out) => prop_assert!(!out.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0))),
                Err(failure) => prop_assert!(text.contains(['\r', '\n', '\0']), "{}", failure),
            }
        }
    }

    #[test]
    fn each_kind_of_value_has_a_form_in_each_place() {
        let values = [
            (Owned::Null, ["", "", "", "", "null", ""]),
            (Owned::Integer(-5), ["-5"; 6]),
            (Owned::Real(0.5), ["0.5"; 6]),
            (
                Owned::Text("a b/ü".into()),
                ["a%20b%2F%C3%BC", "a+b%2F%C3%BC", "a b/ü", "a b/ü", "\"a b/ü\"", "a b/ü"],
            ),
            (
                Owned::Bytes(vec![0, 255]),
                ["%00%FF", "%00%FF", "", "", "\"AP8=\"", "AP8="],
            ),
        ];
        let forms = [
            Form::Percent,
            Form::Field,
            Form::Header,
            Form::Raw,
            Form::Json,
            Form::Within,
        ];
        for (value, expected) in values {
            for (form, expected) in forms.into_iter().zip(expected) {
                if matches!((&value, form), (Owned::Bytes(_), Form::Header | Form::Raw)) {
                    continue;
                }
                let out = filled(value.view(), form).unwrap();
                assert_eq!(String::from_utf8(out).unwrap(), expected, "{value:?} {form:?}");
            }
        }
        assert_eq!(filled(Value::Real(f64::NAN), Form::Json).unwrap(), b"null");
    }
}
