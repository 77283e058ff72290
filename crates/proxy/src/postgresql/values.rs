//! Bound parameters, as text or in the binary format of their type.

use dbdyno_reports::Parameter;

/// Days and microseconds are counted from 2000-01-01: the days since 1970-01-01.
const EPOCH_DAYS: i64 = 10_957;
const DAY_US: i64 = 86_400_000_000;

/// The first number of a type that is not built in.
const FIRST_OWN: u32 = 16_384;

/// The type numbers in a Parse or a ParameterDescription message: a count, and the numbers.
pub fn types(body: &[u8]) -> Vec<u32> {
    let Some((count, rest)) = body.split_first_chunk::<2>() else {
        return Vec::new();
    };
    let (numbers, _) = rest.as_chunks::<4>();
    let count = usize::from(u16::from_be_bytes(*count));
    numbers
        .iter()
        .take(count)
        .map(|number| u32::from_be_bytes(*number))
        .collect()
}

/// Types that are equal in all databases; others have numbers of their own in each, and become 0.
pub fn portable(types: &[u32]) -> Vec<u32> {
    let known = types.iter().map(|of| if *of < FIRST_OWN { *of } else { 0 });
    known.collect()
}

/// The parameters in a Bind message, after the names. `None` if the message is incomplete.
pub fn parameters(mut body: &[u8], types: &[u32]) -> Option<Vec<Parameter>> {
    let formats: Vec<u16> = (0..number(&mut body)?)
        .map(|_| number(&mut body))
        .collect::<Option<_>>()?;
    let count = usize::from(number(&mut body)?);
    let mut made = Vec::with_capacity(count.min(64));
    for at in 0..count {
        let (length, rest) = body.split_first_chunk::<4>()?;
        let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else {
            body = rest;
            made.push(Parameter::Null);
            continue;
        };
        let (value, rest) = rest.split_at_checked(length)?;
        body = rest;
        let is_binary = match formats[..] {
            [] => false,
            [all] => all == 1,
            _ => formats.get(at) == Some(&1),
        };
        let of = types.get(at).copied().unwrap_or(0);
        made.push(if is_binary { binary(value, of) } else { text(value, of) });
    }
    Some(made)
}

fn number(body: &mut &[u8]) -> Option<u16> {
    let (bytes, rest) = body.split_first_chunk::<2>()?;
    *body = rest;
    Some(u16::from_be_bytes(*bytes))
}

fn text(value: &[u8], of: u32) -> Parameter {
    let text = String::from_utf8_lossy(value);
    match of {
        16 => Parameter::Boolean(text.starts_with(['t', 'T', '1', 'y', 'Y'])),
        20 | 21 | 23 | 26 => text
            .parse()
            .map_or_else(|_| Parameter::Text(text.as_ref().into()), Parameter::Integer),
        _ => Parameter::Text(text.as_ref().into()),
    }
}

fn binary(value: &[u8], of: u32) -> Parameter {
    let made = match (of, value) {
        (16, [value]) => Some(Parameter::Boolean(*value != 0)),
        (20, _) => value
            .try_into()
            .ok()
            .map(|value| Parameter::Integer(i64::from_be_bytes(value))),
        (21, _) => value
            .try_into()
            .ok()
            .map(|value| Parameter::Integer(i16::from_be_bytes(value).into())),
        (23, _) => value
            .try_into()
            .ok()
            .map(|value| Parameter::Integer(i32::from_be_bytes(value).into())),
        (26, _) => value
            .try_into()
            .ok()
            .map(|value| Parameter::Integer(u32::from_be_bytes(value).into())),
        (700, _) => value
            .try_into()
            .ok()
            .map(|value| Parameter::Real(f32::from_be_bytes(value).into())),
        (701, _) => value
            .try_into()
            .ok()
            .map(|value| Parameter::Real(f64::from_be_bytes(value))),
        (17, _) => Some(Parameter::Bytes(value.into())),
        (18 | 19 | 25 | 114 | 142 | 1042 | 1043, _) => {
            std::str::from_utf8(value).ok().map(|text| Parameter::Text(text.into()))
        }
        // jsonb has a version before its text.
        (3802, [1, text @ ..]) => std::str::from_utf8(text).ok().map(|text| Parameter::Text(text.into())),
        (1082, _) => value
            .try_into()
            .ok()
            .map(|value| Parameter::Text(date(i32::from_be_bytes(value).into()).into())),
        (1114 | 1184, _) => value.try_into().ok().map(|value| {
            let zone = if of == 1184 { "+00" } else { "" };
            Parameter::Text(format!("{}{zone}", timestamp(i64::from_be_bytes(value))).into())
        }),
        (1700, _) => numeric(value).map(|text| Parameter::Text(text.into())),
        (2950, _) => value
            .try_into()
            .ok()
            .map(|value| Parameter::Text(uuid(u128::from_be_bytes(value)).into())),
        (199 | 1000 | 1005 | 1007 | 1009 | 1015 | 1016 | 1021 | 1022 | 1115 | 1182 | 1185 | 1231 | 2951 | 3807, _) => {
            array(value).map(|text| Parameter::Text(text.into()))
        }
        _ => None,
    };
    made.unwrap_or_else(|| Parameter::Binary(value.into()))
}

/// An array of one dimension: the number of dimensions, flags, the type of the elements, their number, the index of the
/// first, and the elements with their lengths.
fn array(value: &[u8]) -> Option<String> {
    let (words, mut rest) = value.as_chunks::<4>();
    let word = |at: usize| words.get(at).map(|word| i32::from_be_bytes(*word));
    let count = match word(0)? {
        0 => return Some("{}".into()),
        1 => usize::try_from(word(3)?).ok()?,
        _ => return None,
    };
    let of = word(2)? as u32;
    rest = value.get(20..).unwrap_or(rest);
    let mut elements = Vec::with_capacity(count.min(64));
    for _ in 0..count {
        let (length, after) = rest.split_first_chunk::<4>()?;
        rest = after;
        let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else {
            elements.push("NULL".to_owned());
            continue;
        };
        let (element, after) = rest.split_at_checked(length)?;
        rest = after;
        elements.push(match binary(element, of) {
            Parameter::Text(text) => {
                format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
            }
            Parameter::Integer(value) => value.to_string(),
            Parameter::Real(value) => value.to_string(),
            Parameter::Boolean(value) => value.to_string(),
            _ => return None,
        });
    }
    Some(format!("{{{}}}", elements.join(",")))
}

/// A day, counted from 2000-01-01.
fn date(day: i64) -> String {
    // The algorithm of Howard Hinnant's `civil_from_days`.
    let shifted = day + EPOCH_DAYS + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

fn timestamp(microseconds: i64) -> String {
    let of_day = microseconds.rem_euclid(DAY_US);
    let (seconds, fraction) = (of_day / 1_000_000, of_day % 1_000_000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let day = date(microseconds.div_euclid(DAY_US));
    let fraction = if fraction == 0 {
        String::new()
    } else {
        format!(".{fraction:06}")
    };
    format!("{day} {hour:02}:{minute:02}:{second:02}{fraction}")
}

fn uuid(value: u128) -> String {
    let hex = format!("{value:032x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// A `numeric`: digits to the base 10,000, with the weight of the first one.
fn numeric(mut value: &[u8]) -> Option<String> {
    let count = usize::from(number(&mut value)?);
    let weight = i64::from(number(&mut value)? as i16);
    let sign = number(&mut value)?;
    let scale = usize::from(number(&mut value)?);
    let digits: Vec<u16> = (0..count).map(|_| number(&mut value)).collect::<Option<_>>()?;
    if !matches!(sign, 0 | 0x4000) || weight.abs() > 1000 || scale > 2000 {
        return None;
    }
    let digit = |place: i64| {
        usize::try_from(place)
            .ok()
            .and_then(|place| digits.get(place))
            .copied()
            .unwrap_or(0)
    };
    let mut whole: String = (0..=weight).map(|place| format!("{:04}", digit(place))).collect();
    whole = match whole.trim_start_matches('0') {
        "" => "0".into(),
        trimmed => trimmed.into(),
    };
    let mut fraction: String = (0..scale.div_ceil(4) as i64)
        .map(|place| format!("{:04}", digit(weight + 1 + place)))
        .collect();
    fraction.truncate(scale);
    let sign = if sign == 0 { "" } else { "-" };
    let point = if scale == 0 { "" } else { "." };
    Some(format!("{sign}{whole}{point}{fraction}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_values_are_read_by_their_type() {
        let shown = |of, value: &[u8]| match binary(value, of) {
            Parameter::Text(text) => text.into_string(),
            other => format!("{other:?}"),
        };
        assert_eq!(shown(23, &(-7_i32).to_be_bytes()), "Integer(-7)");
        assert_eq!(shown(1082, &0_i32.to_be_bytes()), "2000-01-01");
        assert_eq!(shown(1082, &(-10_957_i32).to_be_bytes()), "1970-01-01");
        assert_eq!(shown(1114, &1_500_000_i64.to_be_bytes()), "2000-01-01 00:00:01.500000");
        assert_eq!(shown(1184, &(-1_000_000_i64).to_be_bytes()), "1999-12-31 23:59:59+00");
        assert_eq!(shown(2950, &[0x12; 16]), "12121212-1212-1212-1212-121212121212");
        let number = |parts: &[u16]| parts.iter().flat_map(|part| part.to_be_bytes()).collect::<Vec<u8>>();
        assert_eq!(shown(1700, &number(&[2, 0, 0, 2, 12, 3400])), "12.34");
        assert_eq!(shown(1700, &number(&[1, 0xffff, 0x4000, 4, 5])), "-0.0005");
        assert_eq!(shown(1700, &number(&[1, 1, 0, 0, 3])), "30000");
        assert_eq!(shown(1700, &number(&[0, 0, 0, 0])), "0");
        // A value that isn't what its type says is taken as bytes.
        assert_eq!(binary(&[1, 2], 23), Parameter::Binary([1, 2].into()));
        assert_eq!(binary(&[1, 2], 17), Parameter::Bytes([1, 2].into()));
    }

    #[test]
    fn arrays_are_read_as_text() {
        let words = |words: &[i32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
        let numbers = words(&[1, 1, 23, 3, 1, 4, 7, -1, 4, -8]);
        assert_eq!(binary(&numbers, 1007), Parameter::Text("{7,NULL,-8}".into()));
        let mut strings = words(&[1, 0, 25, 1, 1, 4]);
        strings.extend_from_slice(br#"a"\,"#);
        assert_eq!(binary(&strings, 1009), Parameter::Text(r#"{"a\"\\,"}"#.into()));
        assert_eq!(binary(&words(&[0, 0, 25]), 1009), Parameter::Text("{}".into()));
        // Two dimensions, and an element that is missing.
        assert!(matches!(binary(&words(&[2, 0, 23]), 1007), Parameter::Binary(_)));
        assert!(matches!(
            binary(&words(&[1, 0, 23, 2, 1, 4, 7]), 1007),
            Parameter::Binary(_)
        ));
    }

    #[test]
    fn incomplete_parameters_are_not_read() {
        let whole = [0, 1, 0, 0, 0, 1, 0, 0, 0, 2, b'7', b'8', 0, 0];
        assert_eq!(parameters(&whole, &[23]), Some(vec![Parameter::Integer(78)]));
        assert_eq!(parameters(&whole[..11], &[23]), None);
    }
}
