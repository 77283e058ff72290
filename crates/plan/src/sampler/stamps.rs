//! Identifiers and times.

use super::scope::{Scope, index};
use crate::generator::{UuidFormat, UuidKind};
use crate::value::Text;
use rand::Rng as _;
use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

/// The time of day, milliseconds since 1970.
pub(super) fn unix_milliseconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_millis() as u64)
}

/// A new identifier of a kind.
pub(super) fn uuid(version: UuidKind, counter: Option<usize>, scope: &mut Scope<'_>) -> uuid::Uuid {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&scope.stream.next_u64().to_le_bytes());
    bytes[8..].copy_from_slice(&scope.stream.next_u64().to_le_bytes());
    match version {
        UuidKind::V4 => {}
        UuidKind::V7 => {
            let random: &[u8; 10] = &std::array::from_fn(|i| bytes[i + 6]);
            return uuid::Builder::from_unix_timestamp_millis(unix_milliseconds(), random).into_uuid();
        }
        UuidKind::TimeBlocked {
            interval_length,
            interval_count,
        } => {
            prefix(
                &mut bytes,
                unix_milliseconds() / 1000 / interval_length % interval_count,
                interval_count,
            );
        }
        UuidKind::SequenceBlocked {
            block_size,
            block_count,
        } => {
            prefix(
                &mut bytes,
                index(counter, scope) / block_size % block_count,
                block_count,
            );
        }
    }
    uuid::Builder::from_random_bytes(bytes).into_uuid()
}

/// Writes a block's number big-endian into as many leading bytes as `count` blocks need.
fn prefix(bytes: &mut [u8; 16], block: u64, count: u64) {
    let needed = ((64 - (count - 1).leading_zeros()).div_ceil(8) as usize).max(1);
    bytes[..needed].copy_from_slice(&block.to_be_bytes()[8 - needed..]);
}

/// Appends an identifier in a form; bytes as hexadecimal digits.
pub(super) fn write_uuid(id: uuid::Uuid, format: UuidFormat, text: &mut Text<'_>) {
    let mut buffer = uuid::Uuid::encode_buffer();
    text.push_str(match format {
        UuidFormat::Dashed => id.hyphenated().encode_lower(&mut buffer),
        UuidFormat::Hex | UuidFormat::Bytes => id.simple().encode_lower(&mut buffer),
    });
}

/// Writes Unix seconds as `YYYY-MM-DD HH:MM:SS` in UTC (Hinnant, "chrono-compatible low-level date algorithms", 2013).
pub(super) fn write_time(seconds: u64, text: &mut Text<'_>) {
    let (days, rest) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    let _ = write!(text, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}");
}
