//! Random streams: one seed per run, and separate streams for each client and for each table row.

use rand::rand_core::SeedableRng;
pub use rand_xoshiro::Xoshiro256PlusPlus as Stream;

/// The stream of a client.
pub fn client_stream(seed: u64, client: u32) -> Stream {
    Stream::seed_from_u64(mix(seed ^ mix(0xC11E_4700_0000_0000 | u64::from(client))))
}

/// The stream of one row of one column. Cheap enough to create for every value.
#[inline]
pub fn row_stream(seed: u64, column: u64, row: u64) -> Stream {
    Stream::seed_from_u64(mix(seed ^ mix(column).rotate_left(17)) ^ mix(row))
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
#[inline]
pub fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A number below `bound`, uniformly distributed except for a bias under `bound` / 2^64. Uses multiplication (Lemire,
/// "Fast random integer generation in an interval", 2019, without the rejection).
#[inline]
pub fn below(random: u64, bound: u64) -> u64 {
    ((u128::from(random) * u128::from(bound)) >> 64) as u64
}

/// A permutation of the numbers below `bound`.
///
/// A Feistel network of four rounds over the smallest even number of bits that can represent `bound`, repeated until
/// the result is in range (Black, Rogaway, "Ciphers with arbitrary finite domains", 2002).
pub fn permute(value: u64, bound: u64, key: u64) -> u64 {
    if bound < 2 {
        return 0;
    }
    let bits = (64 - (bound - 1).leading_zeros()).max(2).next_multiple_of(2);
    let half = bits / 2;
    let mask = if half == 32 {
        u64::from(u32::MAX)
    } else {
        (1 << half) - 1
    };
    let mut current = value;
    loop {
        let (mut left, mut right) = (current >> half, current & mask);
        for round in 0..4 {
            (left, right) = (right, left ^ (mix(right ^ mix(key ^ round)) & mask));
        }
        current = (left << half) | right;
        if current < bound {
            return current;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn streams_differ_between_clients_and_repeat_for_one() {
        let first = |seed, client| client_stream(seed, client).next_u64();
        assert_eq!(first(1, 0), first(1, 0));
        let distinct: HashSet<u64> = (0..10)
            .flat_map(|seed| (0..100).map(move |client| (seed, client)))
            .map(|(s, c)| first(s, c))
            .collect();
        assert_eq!(distinct.len(), 1000);
    }

    proptest! {
        #[test]
        fn permute_is_a_permutation(bound in 1u64..3000, key in any::<u64>()) {
            let image: HashSet<u64> = (0..bound).map(|v| permute(v, bound, key)).collect();
            prop_assert_eq!(image.len() as u64, bound);
            prop_assert!(image.iter().all(|v| *v < bound));
        }

        #[test]
        fn below_stays_below(random in any::<u64>(), bound in 1u64..) {
            prop_assert!(below(random, bound) < bound);
        }
    }
}
