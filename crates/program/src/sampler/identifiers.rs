//! Identifiers from random to ordered: UUIDs (RFC 9562) and ULIDs.

use super::scope::{Scope, index};
use super::timestamps::unix_milliseconds;
use crate::value::{Text, Values};
use dbdyno_protocol::plan::generator::{UuidFormat, UuidKind};
use rand::Rng as _;
use std::sync::atomic::{AtomicU64, Ordering};
use uuid::{Uuid, Variant, Version};

/// A kind of identifier.
#[derive(Debug, Clone, Copy)]
pub(super) enum Identifier {
    Random,
    Timed,
    Monotonic,
    Ulid,
    TimeBlocked(Blocks),
    SequenceBlocked {
        blocks: Blocks,
        start: u64,
        counter: Option<usize>,
    },
}

/// Values that share a prefix, by the scheme of the PostgreSQL extension sequential-uuids (T. Vondra, 2018). The prefix
/// has as many whole bytes as the number of blocks requires. All prefixes of that length are used within the requested
/// period.
#[derive(Debug, Clone, Copy)]
pub(super) struct Blocks {
    size: u64,
    bytes: usize,
}

impl Blocks {
    /// Blocks of `size` values each, `count` of them before the prefixes repeat; both at least 1.
    pub(super) fn new(size: u64, count: u64) -> Self {
        let bits = u64::BITS - (count - 1).leading_zeros();
        let bytes = bits.div_ceil(8) as usize;
        // Not greater than `size`, because the bytes can number at least `count` blocks.
        let size = ((u128::from(size) * u128::from(count)) >> (8 * bytes)) as u64;
        Self {
            size: size.max(1),
            bytes,
        }
    }

    #[inline]
    fn write(self, value: u64, id: &mut [u8; 16]) {
        // The lowest bytes of the number, so the prefix wraps around with them.
        let number = (value / self.size).to_be_bytes();
        id[..self.bytes].copy_from_slice(&number[8 - self.bytes..]);
    }
}

/// Bits of the counter within a millisecond: the field `rand_a`.
const COUNTER_BITS: u32 = 12;

/// The millisecond and counter of this process's last monotonic identifier, as one number.
static LAST: AtomicU64 = AtomicU64::new(0);

/// A number greater than all before: the millisecond and a counter. If the counter overflows, it continues into later
/// milliseconds (RFC 9562, 6.2, method 1).
#[inline]
fn monotonic() -> u64 {
    let now = unix_milliseconds() << COUNTER_BITS;
    let mut last = LAST.load(Ordering::Relaxed);
    loop {
        let next = now.max(last + 1);
        match LAST.compare_exchange_weak(last, next, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return next,
            Err(other) => last = other,
        }
    }
}

// Read the clock for each identifier, although it is the most expensive part. The kernel's coarse clock would take a
// third of the time, but it is up to 4 ms old: more keys would share a timestamp than in real applications, and index
// leaves would be less full.
impl Identifier {
    /// `counter`: counts the uses, for identifiers that depend on them.
    pub(super) fn new(kind: UuidKind, counter: Option<usize>) -> Self {
        match kind {
            UuidKind::V4 => Self::Random,
            UuidKind::V7 => Self::Timed,
            UuidKind::V7Monotonic => Self::Monotonic,
            UuidKind::Ulid => Self::Ulid,
            UuidKind::TimeBlocked {
                interval_length,
                interval_count,
            } => Self::TimeBlocked(Blocks::new(interval_length, interval_count)),
            UuidKind::SequenceBlocked {
                block_size,
                block_count,
                start,
            } => Self::SequenceBlocked {
                blocks: Blocks::new(block_size, block_count),
                start,
                counter,
            },
        }
    }

    /// Generates an identifier.
    #[inline]
    fn make(self, scope: &mut Scope<'_>) -> Uuid {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&scope.stream.next_u64().to_le_bytes());
        id[8..].copy_from_slice(&scope.stream.next_u64().to_le_bytes());
        let version = match self {
            Self::Random => Version::Random,
            Self::Timed => {
                lead(&mut id, unix_milliseconds());
                Version::SortRand
            }
            Self::Monotonic => {
                let number = monotonic();
                lead(&mut id, number >> COUNTER_BITS);
                id[6..8].copy_from_slice(&(number as u16).to_be_bytes());
                Version::SortRand
            }
            // All bits except the time are random: a ULID has neither version nor variant.
            Self::Ulid => {
                lead(&mut id, unix_milliseconds());
                return Uuid::from_bytes(id);
            }
            Self::TimeBlocked(blocks) => {
                blocks.write(unix_milliseconds() / 1000, &mut id);
                Version::Random
            }
            Self::SequenceBlocked { blocks, start, counter } => {
                blocks.write(start.wrapping_add(index(counter, scope)), &mut id);
                Version::Random
            }
        };
        uuid::Builder::from_bytes(id)
            .with_variant(Variant::RFC4122)
            .with_version(version)
            .into_uuid()
    }

    /// Generates an identifier and appends it to the list.
    #[inline]
    pub(super) fn sample(self, format: UuidFormat, scope: &mut Scope<'_>, out: &mut Values) {
        let id = self.make(scope);
        match format {
            UuidFormat::Bytes => out.push_bytes(|bytes| bytes.extend_from_slice(id.as_bytes())),
            _ => out.push_text(|text| write(id, format, text)),
        }
    }

    /// Generates an identifier and appends it as text; bytes as hexadecimal digits.
    pub(super) fn write(self, format: UuidFormat, scope: &mut Scope<'_>, text: &mut Text<'_>) {
        write(self.make(scope), format, text);
    }
}

/// Writes Unix milliseconds into the first 48 bits.
#[inline]
fn lead(id: &mut [u8; 16], milliseconds: u64) {
    id[..6].copy_from_slice(&milliseconds.to_be_bytes()[2..]);
}

#[inline]
fn write(id: Uuid, format: UuidFormat, text: &mut Text<'_>) {
    let mut buffer = Uuid::encode_buffer();
    match format {
        UuidFormat::Base32 => text.push_ascii(&base32(id)),
        UuidFormat::Dashed => text.push_str(id.hyphenated().encode_lower(&mut buffer)),
        UuidFormat::Hex | UuidFormat::Bytes => text.push_str(id.simple().encode_lower(&mut buffer)),
    }
}

/// Crockford's alphabet, which omits I, L, O and U.
const BASE32: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// 26 characters of five bits each (the first of three), so that the text has the byte order.
#[inline]
fn base32(id: Uuid) -> [u8; 26] {
    let number = id.as_u128();
    std::array::from_fn(|place| BASE32[(number >> (5 * (25 - place))) as usize & 31])
}

#[cfg(test)]
mod tests;
