//! Converts values to and from the driver's types.

use dbdyno_program::value::{Owned, Value};
use std::borrow::Cow;
use tiberius::ColumnData;

/// Days from 1 January of the years 1 and 1900 to 1 January 1970.
const FROM_YEAR_1: i64 = 719_162;
const FROM_1900: i64 = 25_567;

/// Converts a parameter. A null is sent as an integer, which the server converts to most types.
pub fn write(value: Value<'_>) -> ColumnData<'static> {
    match value {
        Value::Null => ColumnData::I64(None),
        Value::Integer(v) => ColumnData::I64(Some(v)),
        Value::Real(v) => ColumnData::F64(Some(v)),
        Value::Text(v) => ColumnData::String(Some(Cow::Owned(v.to_owned()))),
        Value::Bytes(v) => ColumnData::Binary(Some(Cow::Owned(v.to_vec()))),
    }
}

/// Converts a returned column.
pub fn read(cell: &ColumnData<'_>) -> Owned {
    let found = match cell {
        ColumnData::U8(v) => v.map(|v| Owned::Integer(v.into())),
        ColumnData::I16(v) => v.map(|v| Owned::Integer(v.into())),
        ColumnData::I32(v) => v.map(|v| Owned::Integer(v.into())),
        ColumnData::I64(v) => v.map(Owned::Integer),
        ColumnData::F32(v) => v.map(|v| Owned::Real(v.into())),
        ColumnData::F64(v) => v.map(Owned::Real),
        ColumnData::Bit(v) => v.map(|v| Owned::Integer(v.into())),
        ColumnData::String(v) => v.as_ref().map(|v| Owned::Text(v.clone().into_owned())),
        ColumnData::Guid(v) => v.map(|v| Owned::Text(v.to_string())),
        ColumnData::Binary(v) => v.as_ref().map(|v| Owned::Bytes(v.clone().into_owned())),
        ColumnData::Numeric(v) => v.map(|v| Owned::Real(v.into())),
        ColumnData::Xml(v) => v.as_ref().map(|v| Owned::Text(v.to_string())),
        ColumnData::DateTime(v) => v.map(|v| {
            let microseconds = u64::from(v.seconds_fragments()) * 1_000_000 / 300;
            Owned::Text(moment(i64::from(v.days()) - FROM_1900, microseconds))
        }),
        ColumnData::SmallDateTime(v) => v.map(|v| {
            let microseconds = u64::from(v.seconds_fragments()) * 60_000_000;
            Owned::Text(moment(i64::from(v.days()) - FROM_1900, microseconds))
        }),
        ColumnData::Date(v) => v.map(|v| Owned::Text(day(i64::from(v.days()) - FROM_YEAR_1))),
        ColumnData::Time(v) => v.map(|v| Owned::Text(time(in_microseconds(v.increments(), v.scale())))),
        ColumnData::DateTime2(v) => v.map(|v| Owned::Text(of_both(v))),
        ColumnData::DateTimeOffset(v) => v.map(|v| Owned::Text(of_both(v.datetime2()))),
    };
    found.unwrap_or(Owned::Null)
}

fn of_both(both: tiberius::time::DateTime2) -> String {
    let microseconds = in_microseconds(both.time().increments(), both.time().scale());
    moment(i64::from(both.date().days()) - FROM_YEAR_1, microseconds)
}

/// Converts time increments of 10^-scale seconds to microseconds.
fn in_microseconds(increments: u64, scale: u8) -> u64 {
    match u32::from(scale) {
        scale @ 0..=6 => increments * 10_u64.pow(6 - scale),
        scale => increments / 10_u64.pow(scale.min(19) - 6),
    }
}

fn moment(days: i64, microseconds: u64) -> String {
    format!("{} {}", day(days), time(microseconds))
}

fn time(microseconds: u64) -> String {
    let (seconds, part) = (microseconds / 1_000_000, microseconds % 1_000_000);
    let text = format!(
        "{:02}:{:02}:{:02}.{part:06}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    );
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A Gregorian date from the number of days since 1970 (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn day(days: i64) -> String {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiberius::time::{Date, DateTime, DateTime2, Time};

    #[test]
    fn days_and_times_are_texts() {
        for (days, text) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (19_782, "2024-02-29"),
            (-719_162, "0001-01-01"),
        ] {
            assert_eq!(day(days), text);
        }
        let text = |cell: ColumnData<'_>| match read(&cell) {
            Owned::Text(text) => text,
            other => panic!("{other:?}"),
        };
        let date = Date::new((19_782 + FROM_YEAR_1) as u32);
        assert_eq!(text(ColumnData::Date(Some(date))), "2024-02-29");
        let moment = DateTime2::new(date, Time::new(863_995_000_000, 7));
        assert_eq!(text(ColumnData::DateTime2(Some(moment))), "2024-02-29 23:59:59.5");
        let old = DateTime::new((19_782 + FROM_1900) as i32, 300 * 3600);
        assert_eq!(text(ColumnData::DateTime(Some(old))), "2024-02-29 01:00:00");
    }

    #[test]
    fn columns_are_converted_by_type() {
        assert_eq!(read(&write(Value::Null)), Owned::Null);
        assert_eq!(read(&write(Value::Integer(-5))), Owned::Integer(-5));
        assert_eq!(read(&write(Value::Real(0.25))), Owned::Real(0.25));
        assert_eq!(read(&write(Value::Text("ü"))), Owned::Text("ü".into()));
        assert_eq!(read(&write(Value::Bytes(&[1, 255]))), Owned::Bytes(vec![1, 255]));
        assert_eq!(read(&ColumnData::Bit(Some(true))), Owned::Integer(1));
    }
}
