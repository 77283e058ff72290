use super::*;
use crate::random::client_stream;
use crate::sampler::Position;
use crate::value::Value;
use proptest::prelude::*;

/// An identifier of a kind, generated for a row.
fn made(kind: UuidKind, seed: u64, row: u64) -> [u8; 16] {
    let mut scope = Scope {
        seed,
        stream: &mut client_stream(seed, 0),
        row: Position::of(row),
        variables: &[],
        counters: &mut [],
        client: (0, 1),
        taken: None,
        problem: None,
    };
    Identifier::new(kind, None).make(&mut scope).into_bytes()
}

fn number(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |sum, byte| (sum << 8) | u128::from(*byte))
}

/// The prefix as the extension documents it, without the shortcuts of [`Blocks`].
fn prefix_by_definition(value: u64, size: u64, count: u64) -> (u128, u32) {
    let exponent: u32 = (0..=64)
        .find(|bits| 1u128 << bits >= u128::from(count))
        .expect("64 bits are enough");
    let bits = exponent.div_ceil(8) * 8;
    let (value, size, count) = (u128::from(value), u128::from(size), u128::from(count));
    let each = (size * count / (1u128 << bits)).max(1);
    (value / each % (1u128 << bits), bits)
}

/// The part of a prefix that remains after version and variant bits are set.
fn seen(prefix: u128, bits: u32) -> u128 {
    let mut id = [0; 16];
    let bytes = (bits / 8) as usize;
    id[..bytes].copy_from_slice(&prefix.to_be_bytes()[16 - bytes..]);
    if bytes > 6 {
        id[6] = (id[6] & 0x0F) | 0x40;
    }
    number(&id[..bytes])
}

fn sizes() -> impl Strategy<Value = u64> {
    prop_oneof![
        1u64..300,
        1u64..1 << 20,
        1u64..,
        Just(u64::MAX),
        (0u32..64).prop_map(|bits| 1 << bits)
    ]
}

proptest! {
    #[test]
    fn version_and_variant_bits_are_set(seed: u64, row: u64, size in sizes(), count in sizes()) {
        let blocked = UuidKind::SequenceBlocked { block_size: size, block_count: count, start: 0 };
        let timed = UuidKind::TimeBlocked { interval_length: size, interval_count: count };
        for (kind, version) in [
            (UuidKind::V4, 4),
            (UuidKind::V7, 7),
            (UuidKind::V7Monotonic, 7),
            (blocked, 4),
            (timed, 4),
        ] {
            let id = Uuid::from_bytes(made(kind, seed, row));
            prop_assert_eq!(id.get_version_num(), version);
            prop_assert_eq!(id.get_variant(), Variant::RFC4122);
        }
    }

    #[test]
    fn a_prefix_follows_the_scheme(seed: u64, value: u64, size in sizes(), count in sizes()) {
        let (prefix, bits) = prefix_by_definition(value, size, count);
        let id = made(UuidKind::SequenceBlocked { block_size: size, block_count: count, start: 0 }, seed, value);
        prop_assert_eq!(number(&id[..(bits / 8) as usize]), seen(prefix, bits));
    }

    #[test]
    fn bits_after_the_prefix_are_random(seed: u64, value: u64, size in sizes(), count in 2u64..1 << 24) {
        let plain = made(UuidKind::V4, seed, value);
        let id = made(UuidKind::SequenceBlocked { block_size: size, block_count: count, start: 0 }, seed, value);
        let (_, bits) = prefix_by_definition(value, size, count);
        let bytes = (bits / 8) as usize;
        prop_assert_eq!(&id[bytes..], &plain[bytes..]);
    }

    #[test]
    fn prefixes_wrap_around(seed: u64, size in 1u64..1000, bytes in 1u32..=2, start in 0u64..1 << 30) {
        let count = 1u64 << (8 * bytes);
        let kind = UuidKind::SequenceBlocked { block_size: size, block_count: count, start: 0 };
        let prefix = |value: u64| number(&made(kind, seed, value)[..bytes as usize]) as u64;
        prop_assert_eq!(prefix(start), prefix(start + size * count));
        prop_assert_eq!(prefix(start + size), (prefix(start) + 1) % count);
    }

    #[test]
    fn prefixes_wrap_around_for_any_block_count(seed: u64, size in 1u64..1000, count in 2u64..60_000) {
        // The scheme spreads the values over all prefixes, so that no part of the range is empty.
        let kind = UuidKind::SequenceBlocked { block_size: size * 256, block_count: count, start: 0 };
        let (_, bits) = prefix_by_definition(0, size * 256, count);
        let bytes = (bits / 8) as usize;
        let each = (size * 256 * count) >> bits;
        prop_assume!(each >= 1);
        let prefix = |value: u64| number(&made(kind, seed, value)[..bytes]);
        prop_assert_eq!(prefix((each << bits) - 1), (1u128 << bits) - 1);
        prop_assert_eq!(prefix(each << bits), 0);
    }

    #[test]
    fn values_with_a_later_start_continue_the_sequence(seed: u64, start in 0u64..1 << 40, value in 0u64..1 << 40) {
        let blocked = |start| UuidKind::SequenceBlocked { block_size: 1000, block_count: 300, start };
        // Random bits depend on the row, so only the prefixes are equal.
        prop_assert_eq!(&made(blocked(start), seed, value)[..2], &made(blocked(0), seed, start + value)[..2]);
    }

    #[test]
    fn base_32_preserves_the_order(a: [u8; 16], b: [u8; 16]) {
        let (left, right) = (base32(Uuid::from_bytes(a)), base32(Uuid::from_bytes(b)));
        prop_assert_eq!(left.cmp(&right), a.cmp(&b));
        let read = |text: [u8; 26]| {
            let digit = |each: &u8| BASE32.iter().position(|known| known == each).expect("one of 32") as u128;
            text.iter().fold(0u128, |sum, each| (sum << 5) | digit(each))
        };
        prop_assert_eq!(read(left), number(&a));
    }
}

#[test]
fn time_based_identifiers_begin_with_the_time() {
    for kind in [UuidKind::V7, UuidKind::V7Monotonic, UuidKind::Ulid] {
        let before = u128::from(unix_milliseconds());
        let led = number(&made(kind, 1, 0)[..6]);
        // Another test may have advanced this process's counter into a later millisecond.
        assert!(
            (before..before + 60_000).contains(&led),
            "{kind:?}: {led} after {before}"
        );
    }
}

#[test]
fn monotonic_identifiers_increase_across_threads() {
    let make = || {
        (0..20_000)
            .map(|row| made(UuidKind::V7Monotonic, 7, row))
            .collect::<Vec<_>>()
    };
    let threads: Vec<Vec<[u8; 16]>> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..4).map(|_| scope.spawn(make)).collect();
        started.into_iter().map(|each| each.join().expect("it ends")).collect()
    });
    // Strictly increasing before their random bits.
    let leading = |id: &[u8; 16]| number(&id[..8]);
    for made in &threads {
        assert!(made.iter().map(leading).is_sorted_by(|a, b| a < b));
    }
    let all: std::collections::HashSet<u128> = threads.iter().flatten().map(leading).collect();
    assert_eq!(all.len(), 80_000);
}

#[test]
fn known_formats() {
    // The example in the specification of ULIDs.
    let id = uuid::uuid!("01563e3a-b5d3-d676-4c61-efb99302bd5b");
    let mut values = Values::default();
    for (place, format, expected) in [
        (0, UuidFormat::Dashed, "01563e3a-b5d3-d676-4c61-efb99302bd5b"),
        (1, UuidFormat::Hex, "01563e3ab5d3d6764c61efb99302bd5b"),
        (2, UuidFormat::Base32, "01ARZ3NDEKTSV4RRFFQ69G5FAV"),
    ] {
        values.push_text(|text| write(id, format, text));
        assert_eq!(values.get(place), Some(Value::Text(expected)));
    }
}
