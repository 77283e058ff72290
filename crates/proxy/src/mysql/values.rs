//! Bound parameters in MySQL's binary format.

use dbdyno_reports::Parameter;

/// A parameter's type, and whether it is unsigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Type {
    code: u8,
    is_unsigned: bool,
}

/// A flag of an execution: the number of parameters follows.
const HAS_COUNT: u8 = 0x08;

/// A number of four bytes.
pub fn number(body: &[u8]) -> Option<u32> {
    body.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes))
}

/// Reads an integer of one to nine bytes from the front.
pub fn integer(body: &mut &[u8]) -> Option<u64> {
    let (first, rest) = body.split_first()?;
    *body = rest;
    let size = match first {
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        0xfb | 0xff => return None,
        small => return Some(u64::from(*small)),
    };
    let bytes = part(body, size)?;
    Some(bytes.iter().rev().fold(0, |made, byte| made << 8 | u64::from(*byte)))
}

fn part<'a>(body: &mut &'a [u8], size: usize) -> Option<&'a [u8]> {
    let (part, rest) = body.split_at_checked(size)?;
    *body = rest;
    Some(part)
}

fn counted<'a>(body: &mut &'a [u8]) -> Option<&'a [u8]> {
    let size = usize::try_from(integer(body)?).ok()?;
    part(body, size)
}

/// A query without its attributes.
pub fn after_attributes(mut body: &[u8]) -> Option<&[u8]> {
    let count = usize::try_from(integer(&mut body)?).ok()?;
    integer(&mut body)?;
    if count > 0 {
        let types = types(&mut body, count, true)?;
        for (each, is_null) in types.1.iter().zip(types.0) {
            if !is_null {
                value(&mut body, *each)?;
            }
        }
    }
    Some(body)
}

/// The parameters of an execution. `known`: their types as they were sent before; `sent_before`: parameters whose values
/// were sent by requests of their own.
pub fn parameters(
    body: &[u8],
    count: usize,
    known: &mut Vec<Type>,
    sent_before: &[u16],
    has_attributes: bool,
) -> Option<Vec<Parameter>> {
    let flags = *body.get(4)?;
    let mut rest = body.get(9..)?;
    let mut all = count;
    let is_named = has_attributes && flags & HAS_COUNT != 0;
    if is_named {
        all = usize::try_from(integer(&mut rest)?).ok()?;
    }
    let nulls = part(&mut rest, all.div_ceil(8))?;
    let is_null = |at: usize| nulls[at / 8] >> (at % 8) & 1 != 0;
    let (first, after) = rest.split_first()?;
    rest = after;
    if *first != 0 {
        *known = read_types(&mut rest, all, is_named)?;
    }
    let mut made = Vec::with_capacity(count);
    for at in 0..count {
        let of = *known.get(at)?;
        made.push(if is_null(at) {
            Parameter::Null
        } else if sent_before.iter().any(|sent| usize::from(*sent) == at) {
            Parameter::Unknown
        } else {
            value(&mut rest, of)?
        });
    }
    Some(made)
}

fn read_types(body: &mut &[u8], count: usize, is_named: bool) -> Option<Vec<Type>> {
    let mut made = Vec::with_capacity(count.min(64));
    for _ in 0..count {
        let of = part(body, 2)?;
        if is_named {
            counted(body)?;
        }
        made.push(Type {
            code: of[0],
            is_unsigned: of[1] & 0x80 != 0,
        });
    }
    Some(made)
}

/// Which attributes are null, and their types.
fn types(body: &mut &[u8], count: usize, is_named: bool) -> Option<(Vec<bool>, Vec<Type>)> {
    let nulls = part(body, count.div_ceil(8))?;
    let nulls = (0..count).map(|at| nulls[at / 8] >> (at % 8) & 1 != 0).collect();
    part(body, 1)?;
    Some((nulls, read_types(body, count, is_named)?))
}

fn value(body: &mut &[u8], of: Type) -> Option<Parameter> {
    let made = match of.code {
        0x01 => whole(part(body, 1)?, of),
        0x02 | 0x0d => whole(part(body, 2)?, of),
        0x03 | 0x09 => whole(part(body, 4)?, of),
        0x08 => whole(part(body, 8)?, of),
        0x04 => Parameter::Real(f32::from_le_bytes(part(body, 4)?.try_into().ok()?).into()),
        0x05 => Parameter::Real(f64::from_le_bytes(part(body, 8)?.try_into().ok()?)),
        0x06 => Parameter::Null,
        0x07 | 0x0a | 0x0c => date(counted(body)?)?,
        0x0b => time(counted(body)?)?,
        // Blobs.
        0xf9..=0xfc => {
            let bytes = counted(body)?;
            std::str::from_utf8(bytes)
                .map_or_else(|_| Parameter::Bytes(bytes.into()), |text| Parameter::Text(text.into()))
        }
        _ => Parameter::Text(String::from_utf8_lossy(counted(body)?).into()),
    };
    Some(made)
}

fn whole(bytes: &[u8], of: Type) -> Parameter {
    let value = bytes
        .iter()
        .rev()
        .fold(0_u64, |made, byte| made << 8 | u64::from(*byte));
    if of.is_unsigned {
        return i64::try_from(value).map_or(Parameter::Unsigned(value), Parameter::Integer);
    }
    let unused = 64 - 8 * bytes.len() as u32;
    Parameter::Integer(((value << unused) as i64) >> unused)
}

fn date(bytes: &[u8]) -> Option<Parameter> {
    let Some(([y0, y1, month, day], rest)) = bytes.split_first_chunk::<4>() else {
        return bytes.is_empty().then(|| Parameter::Text("0000-00-00".into()));
    };
    let year = u16::from_le_bytes([*y0, *y1]);
    let day = format!("{year:04}-{month:02}-{day:02}");
    Some(Parameter::Text(match rest {
        [] => day.into(),
        [hour, minute, second, fraction @ ..] => {
            format!("{day} {hour:02}:{minute:02}:{second:02}{}", microseconds(fraction)).into()
        }
        _ => return None,
    }))
}

fn time(bytes: &[u8]) -> Option<Parameter> {
    let [is_negative, d0, d1, d2, d3, hour, minute, second, fraction @ ..] = bytes else {
        return bytes.is_empty().then(|| Parameter::Text("00:00:00".into()));
    };
    let hours = u64::from(u32::from_le_bytes([*d0, *d1, *d2, *d3])) * 24 + u64::from(*hour);
    let sign = if *is_negative == 0 { "" } else { "-" };
    let text = format!("{sign}{hours:02}:{minute:02}:{second:02}{}", microseconds(fraction));
    Some(Parameter::Text(text.into()))
}

fn microseconds(bytes: &[u8]) -> String {
    number(bytes).map_or_else(String::new, |fraction| format!(".{fraction:06}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_by_their_type() {
        let read = |code, is_unsigned, mut bytes: &[u8]| value(&mut bytes, Type { code, is_unsigned });
        assert_eq!(read(1, false, &[0xff]), Some(Parameter::Integer(-1)));
        assert_eq!(read(1, true, &[0xff]), Some(Parameter::Integer(255)));
        assert_eq!(read(8, true, &[0xff; 8]), Some(Parameter::Unsigned(u64::MAX)));
        assert_eq!(read(8, false, &[0xfe; 7]), None);
        let date = [7, 0xe8, 0x07, 2, 29, 13, 5, 9];
        assert_eq!(
            read(12, false, &date),
            Some(Parameter::Text("2024-02-29 13:05:09".into()))
        );
        assert_eq!(
            read(11, false, &[8, 1, 1, 0, 0, 0, 2, 3, 4]),
            Some(Parameter::Text("-26:03:04".into()))
        );
        assert_eq!(
            read(0xfc, false, &[2, 0xff, 0xfe]),
            Some(Parameter::Bytes([0xff, 0xfe].into()))
        );
        assert_eq!(read(0xfd, false, &[2, b'a', b'b']), Some(Parameter::Text("ab".into())));
    }

    #[test]
    fn types_are_sent_once() {
        let mut known = Vec::new();
        let first = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0b10, 1, 3, 0, 3, 0, 7, 0, 0, 0];
        let made = parameters(&first, 2, &mut known, &[], false);
        assert_eq!(made, Some(vec![Parameter::Integer(7), Parameter::Null]));
        let second = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 8, 0, 0, 0];
        let made = parameters(&second, 2, &mut known, &[1], false);
        assert_eq!(made, Some(vec![Parameter::Integer(8), Parameter::Unknown]));
    }

    #[test]
    fn attributes_before_a_query_are_skipped() {
        let query = [1, 1, 0, 1, 0xfd, 0, 1, b'n', 2, b'v', b'w', b's', b'1'];
        assert_eq!(after_attributes(&query), Some(&b"s1"[..]));
        assert_eq!(after_attributes(&[0, 1, b's']), Some(&b"s"[..]));
    }
}
