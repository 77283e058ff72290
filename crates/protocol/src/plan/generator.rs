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
use std::collections::BTreeMap;

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
    /// What an expression gives. In a column, its variables are `row`, `parent` and `child` (numbers from 0), and the
    /// names in `columns`.
    Expression {
        /// How it was written, for errors.
        #[serde(default)]
        text: String,
        /// The expression.
        tree: Expression,
        /// In a column: its other variables, each with the generator of its value in the same row.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        columns: BTreeMap<String, Generator>,
    },
    /// `start + step × index`.
    Serial {
        /// The first value.
        #[serde(default = "one")]
        start: i64,
        /// The distance between values.
        #[serde(default = "one")]
        step: i64,
        /// Generators of transactions with the same counter count together, so none repeats another's value. Left out:
        /// this one counts alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        counter: Option<String>,
    },
    /// `start` plus the number of the next key in a key space that all clients share.
    NextKey {
        /// The name of the key space.
        space: String,
        /// The first value.
        start: u64,
    },
    /// A number from 0 to the last acknowledged key of a key space, the latest most often: the k-th from the end with a
    /// probability in proportion to 1 / k^exponent.
    LatestKey {
        /// The name of the key space.
        space: String,
        /// Numbers that exist from the beginning, at least 1.
        start: u64,
        /// The exponent, above 0.
        exponent: f64,
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
    /// Characters, all equally likely.
    Text {
        /// The least length in characters.
        min: u32,
        /// The greatest length.
        max: u32,
        /// The characters to draw from; left out: letters, digits, `-` and `_`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        characters: Option<String>,
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
    /// The value of one of several generators.
    Choice {
        /// The generators; at least one.
        of: Vec<Generator>,
        /// A weight for each; left out: equal weights.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        weights: Option<Vec<f64>>,
        /// The number of the generator to use, from 0, modulo their number. Left out: drawn by weight.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        index: Option<Box<Generator>>,
    },
    /// A UUID.
    Uuid {
        /// Which kind.
        version: UuidKind,
        /// How it is written.
        #[serde(default)]
        format: UuidFormat,
        /// As for `serial`; only `sequence_blocked` counts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        counter: Option<String>,
    },
    /// A text with the values of other generators in it: each `{}` in the template takes the next part. `{:05}` fills a
    /// number with zeros on the left, `{:.2}` writes two decimals.
    Format {
        /// The text.
        template: String,
        /// The parts.
        parts: Vec<Generator>,
    },
    /// A text in JSON: an object. Numbers, null, Booleans, objects and lists keep their types; other values are strings.
    Object {
        /// The names of its members.
        names: Vec<String>,
        /// The value of each member.
        of: Vec<Generator>,
    },
    /// A text in JSON: a list, with values as in an object.
    List {
        /// The generators of its values, in order.
        of: Vec<Generator>,
        /// How often these are repeated, at most a million times; left out: once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<Box<Generator>>,
    },
    /// The current time.
    Now {
        /// How it is written.
        #[serde(default)]
        format: TimeFormat,
    },
    /// A time, written in UTC.
    Time {
        /// Days or seconds since 1970, an integer.
        of: Box<Generator>,
        /// How it is written.
        format: DateFormat,
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

impl Generator {
    /// The generators within it whose values it uses in its own scope: not those of another table's columns.
    pub fn parts_mut(&mut self) -> Vec<&mut Self> {
        match self {
            Self::Format { parts, .. } => parts.iter_mut().collect(),
            Self::Choice { of, index, .. } => of.iter_mut().chain(index.as_deref_mut()).collect(),
            Self::List { of, count } => of.iter_mut().chain(count.as_deref_mut()).collect(),
            Self::Object { of, .. } => of.iter_mut().collect(),
            Self::Nullable { of, .. } | Self::Time { of, .. } => vec![of],
            Self::Reference { row, .. } => vec![row],
            _ => Vec::new(),
        }
    }

    /// Whether it is an expression, or one is among its parts.
    pub fn has_expression(&self) -> bool {
        match self {
            Self::Expression { .. } => true,
            Self::Format { parts, .. } => parts.iter().any(Self::has_expression),
            Self::Choice { of, index, .. } => of.iter().chain(index.as_deref()).any(Self::has_expression),
            Self::List { of, count } => of.iter().chain(count.as_deref()).any(Self::has_expression),
            Self::Object { of, .. } => of.iter().any(Self::has_expression),
            Self::Nullable { of, .. } | Self::Time { of, .. } => of.has_expression(),
            Self::Reference { row, .. } => row.has_expression(),
            _ => false,
        }
    }
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

/// What a time counts, and how it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DateFormat {
    /// Days, as `2026-01-31`.
    Date,
    /// Seconds, as `2026-01-31 23:59:59`.
    Timestamp,
}

/// How the current time is written.
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
