//! Identifiers, random to ordered: UUIDs (RFC 9562) and ULIDs.

use super::scope::{Scope, index};
use super::stamps::unix_milliseconds;
use crate::value::{Text, Values};
use dbdyno_plan::generator::{UuidFormat, UuidKind};
use rand::Rng as _;
use std::sync::atomic::{AtomicU64, Ordering};
use uuid::{Uuid, Variant, Version};

/// A kind of identifier, ready to be made.
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

/// Values that share a prefix, by the scheme of the extension sequential-uuids for PostgreSQL (T. Vondra, 2018): the prefix
/// has as many whole bytes as the number of blocks needs, and as many blocks as these bytes can number are passed through in
/// the time that was asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Blocks {
    size: u64,
    bytes: usize,
}

impl Blocks {
    /// Of `size` values each, `count` before the prefix begins again; both at least 1.
    pub(super) fn new(size: u64, count: u64) -> Self {
        let bits = u64::BITS - (count - 1).leading_zeros();
        let bytes = bits.div_ceil(8) as usize;
        // Not above `size`, since there are at most as many blocks as the bytes can number.
        let size = ((u128::from(size) * u128::from(count)) >> (8 * bytes)) as u64;
        Self {
            size: size.max(1),
            bytes,
        }
    }

    #[inline]
    fn write(self, value: u64, id: &mut [u8; 16]) {
        // Of the number the lowest bytes: the prefix begins again where they do.
        let number = (value / self.size).to_be_bytes();
        id[..self.bytes].copy_from_slice(&number[8 - self.bytes..]);
    }
}

/// Bits of the counter within a millisecond: those of the field `rand_a`.
const COUNTER_BITS: u32 = 12;

/// The millisecond and the counter of the last monotonic identifier in this process, as one number.
static LAST: AtomicU64 = AtomicU64::new(0);

/// A number above all before: the millisecond, and a counter that goes on into later milliseconds where it overflows
/// (RFC 9562, 6.2, method 1).
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

// The clock is read for each identifier, which takes longer than the rest. The kernel's last tick would be read in a third of
// the time, but it is up to 4 ms old: more keys would have the same time than those that programs make, and leaves of
// indexes would be filled less.
impl Identifier {
    /// `counter`: what counts the uses, where they are what the identifier depends on.
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

    /// A new one.
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
            // All but the time is random: a ULID tells neither version nor variant.
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

    /// Makes one and appends it to the list.
    #[inline]
    pub(super) fn sample(self, format: UuidFormat, scope: &mut Scope<'_>, out: &mut Values) {
        let id = self.make(scope);
        match format {
            UuidFormat::Bytes => out.push_bytes(|bytes| bytes.extend_from_slice(id.as_bytes())),
            _ => out.push_text(|text| write(id, format, text)),
        }
    }

    /// Makes one and appends it to a text; bytes as hexadecimal digits.
    pub(super) fn write(self, format: UuidFormat, scope: &mut Scope<'_>, text: &mut Text<'_>) {
        write(self.make(scope), format, text);
    }
}

/// Puts Unix milliseconds first, in 48 bits.
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

/// Crockford's, which leaves out I, L, O and U.
const BASE32: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// 26 characters of five bits each, the first of three, so that texts are in the order of their bytes.
#[inline]
fn base32(id: Uuid) -> [u8; 26] {
    let number = id.as_u128();
    std::array::from_fn(|place| BASE32[(number >> (5 * (25 - place))) as usize & 31])
}

#[cfg(test)]
mod tests;
