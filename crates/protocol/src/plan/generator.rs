//! How a value is made: the plan's vocabulary of generators.
//!
//! A generator is a pure function of a random stream and an *index*. When a table is filled, the index is the row's
//! number from 0, and the stream restarts at each row. So any row can be generated alone: [`Generator::Reference`]
//! repeats another table's key without reading the table. In a transaction the stream belongs to the client, and the
//! index counts the uses of that generator, interleaved so that no two clients share an index.

use crate::plan::expression::Expression;
use crate::plan::literal::Literal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a value is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Generator {
    /// Always the same value.
    Constant {
        /// It.
        value: Literal,
    },
    /// The value of a variable of the transaction.
    Variable {
        /// Its name.
        name: String,
    },
    /// What an expression gives. It stands alone: not in a column, nor within another generator.
    Expression {
        /// How it was written, for errors.
        #[serde(default)]
        text: String,
        /// The expression.
        tree: Expression,
    },
    /// `start + step × index`.
    Serial {
        /// The first value.
        #[serde(default = "one")]
        start: i64,
        /// The distance between values.
        #[serde(default = "one")]
        step: i64,
    },
    /// An integer from `low` to `high`, both included, all equally likely.
    Uniform {
        /// The least value.
        low: i64,
        /// The greatest value.
        high: i64,
    },
    /// A real number from `low` up to but not including `high`.
    UniformReal {
        /// The least value.
        low: f64,
        /// The bound above.
        high: f64,
    },
    /// An integer from `low` to `high`: the k-th has a probability in proportion to 1 / k^exponent.
    Zipf {
        /// The least and, unless scattered, the most frequent value.
        low: i64,
        /// The greatest value.
        high: i64,
        /// The exponent, above 0; 1 gives Zipf's law.
        #[serde(default = "unit")]
        exponent: f64,
        /// Spread the frequent values over the range by a fixed permutation.
        #[serde(default)]
        scattered: bool,
    },
    /// An integer from `low` to `high`, normally distributed about their middle and cut off at the ends.
    Gaussian {
        /// The least value.
        low: i64,
        /// The greatest value.
        high: i64,
        /// Standard deviations from the middle to either end; at least 1.
        #[serde(default = "deviations")]
        deviations: f64,
    },
    /// Letters, digits, `-` and `_`: 64 characters, all equally likely.
    Text {
        /// The least length in characters.
        min: u32,
        /// The greatest length.
        max: u32,
    },
    /// Pronounceable words with a space between them.
    Words {
        /// The least number of words.
        min: u32,
        /// The greatest number.
        max: u32,
        /// Words to draw from; left out: words of two or three random syllables.
        #[serde(default)]
        vocabulary: Option<VocabularyOf>,
    },
    /// One of the values given.
    Pick {
        /// The values; at least one.
        values: Vec<Literal>,
        /// A weight for each; left out: equal weights.
        #[serde(default)]
        weights: Option<Vec<f64>>,
    },
    /// A UUID.
    Uuid {
        /// Which kind.
        version: UuidKind,
        /// How it is written.
        #[serde(default)]
        format: UuidFormat,
    },
    /// A text with the values of other generators in it: each `{}` in the template takes the next part.
    Format {
        /// The text.
        template: String,
        /// The parts.
        parts: Vec<Generator>,
    },
    /// The current time.
    Now {
        /// How it is written.
        #[serde(default)]
        format: TimeFormat,
    },
    /// The value that a column's generator gave to a row.
    Reference {
        /// The column's generator.
        of: Box<Generator>,
        /// The column's random stream.
        stream: u64,
        /// The row's number, from 0.
        row: Box<Generator>,
    },
    /// Null with a probability, otherwise the value of another generator.
    Nullable {
        /// The probability of null, from 0 to 1.
        share: f64,
        /// The other generator.
        of: Box<Generator>,
    },
}

/// A fixed list of words: the k-th is drawn with a probability in proportion to 1 / k^exponent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VocabularyOf {
    /// How many words, from 1 to 1,000,000.
    pub size: u32,
    /// The exponent, above 0; 1 gives Zipf's law.
    #[serde(default = "unit")]
    pub exponent: f64,
    /// What no word contains.
    #[serde(default)]
    pub without: Vec<String>,
}

/// The kinds of UUID, random to ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum UuidKind {
    /// Version 4 (RFC 9562): 122 random bits.
    V4,
    /// Version 7 (RFC 9562): 48 bits of Unix milliseconds, then random bits.
    V7,
    /// Version 7 with a counter in its next 12 bits: each is above all that this process made before.
    V7Monotonic,
    /// A ULID: 48 bits of Unix milliseconds, then 80 random bits.
    Ulid,
    /// A version-4 UUID with a prefix that counts intervals of time. With n bytes for the prefix, the least that number
    /// `interval_count` intervals: `unix_seconds / size mod 256^n`, where `size` is
    /// `max(1, interval_length × interval_count / 256^n)`.
    TimeBlocked {
        /// Seconds in an interval.
        interval_length: u64,
        /// Intervals before the prefix begins again.
        interval_count: u64,
    },
    /// A version-4 UUID with a prefix that counts blocks of keys: like `time_blocked`, with the index instead of the
    /// seconds.
    SequenceBlocked {
        /// Keys in a block.
        block_size: u64,
        /// Blocks before the prefix begins again.
        block_count: u64,
        /// The index of the first.
        #[serde(default)]
        start: u64,
    },
}

/// How a UUID is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UuidFormat {
    /// 36 characters with dashes.
    #[default]
    Dashed,
    /// 32 characters.
    Hex,
    /// 16 bytes.
    Bytes,
    /// 26 characters of Crockford's base 32, as ULIDs are written.
    Base32,
}

/// How a time is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimeFormat {
    /// Seconds since 1970, an integer.
    #[default]
    UnixSeconds,
    /// Milliseconds since 1970, an integer.
    UnixMilliseconds,
    /// `2026-01-31 23:59:59`, UTC.
    Text,
}

fn one() -> i64 {
    1
}

fn unit() -> f64 {
    1.0
}

fn deviations() -> f64 {
    3.0
}
