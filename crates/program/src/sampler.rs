//! Compiled generators: checked, with precomputed tables, and without allocation per value.

mod identifiers;
mod json;
mod probability;
mod scope;
mod template;
mod timestamps;

pub use probability::{choose, probability, thresholds};
pub use scope::{Position, Scope};

use crate::expression::{Compiled, EvaluationError, Scalar, read};
use crate::key_space::KeySpace;
use crate::names::Names;
use crate::random::{Stream, below, permute, row_stream};
use crate::value::{Owned, Text, Value, Values};
use crate::vocabulary::Vocabulary;
use dbdyno_protocol::plan::PlanError;
use dbdyno_protocol::plan::generator::{DateFormat, Generator, TimeFormat, UuidFormat, UuidKind};
use dbdyno_protocol::plan::limits::{LONGEST_TEXT, MOST_WORDS, within};
use dbdyno_protocol::plan::literal::Literal;
use identifiers::Identifier;
use rand::Rng as _;
use rand_distr::{Distribution, StandardNormal, Zipf};
use scope::index;
use std::fmt::Write as _;
use std::sync::Arc;
use template::Template;
use timestamps::{unix_milliseconds, write_date, write_time};

/// The use of a generator, which defines its index.
#[derive(Debug)]
pub enum Place<'a> {
    /// In a table column: the index is the row number.
    Row,
    /// In a transaction: the index counts uses. Names and counters are stored here.
    Transaction(&'a mut Names),
}

/// A compiled generator.
#[derive(Debug, Clone)]
pub struct Sampler(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Constant(Owned),
    Variable(usize),
    Serial {
        start: i64,
        step: i64,
        counter: Option<usize>,
    },
    NextKey {
        slot: usize,
        space: Arc<KeySpace>,
        start: u64,
    },
    LatestKey {
        space: Arc<KeySpace>,
        start: u64,
        exponent: f64,
    },
    Uniform {
        low: i64,
        bound: u64,
    },
    UniformReal {
        low: f64,
        width: f64,
    },
    Zipf {
        low: i64,
        bound: u64,
        ranks: Zipf<f64>,
        scattered: bool,
    },
    Gaussian {
        middle: f64,
        deviation: f64,
        low: i64,
        high: i64,
    },
    Text {
        min: u32,
        bound: u64,
    },
    Characters {
        min: u32,
        bound: u64,
        characters: Box<[char]>,
    },
    Words {
        min: u32,
        bound: u64,
        vocabulary: Option<Vocabulary>,
    },
    Pick {
        values: Box<[Owned]>,
        thresholds: Box<[u64]>,
    },
    Uuid {
        identifier: Identifier,
        format: UuidFormat,
    },
    Choice {
        of: Box<[Sampler]>,
        thresholds: Box<[u64]>,
        index: Option<Box<Sampler>>,
    },
    Format {
        template: Template,
        parts: Box<[Sampler]>,
    },
    /// The names are written as JSON, with their colons.
    Object {
        names: Box<[String]>,
        of: Box<[Sampler]>,
    },
    List {
        of: Box<[Sampler]>,
        count: Option<Box<Sampler>>,
    },
    Now(TimeFormat),
    Time {
        of: Box<Sampler>,
        format: DateFormat,
    },
    /// In a column only: in a transaction, an expression is evaluated before the generator.
    Expression(Box<Compiled>),
    Reference {
        of: Box<Sampler>,
        stream: u64,
        row: Box<Sampler>,
    },
    Nullable {
        threshold: u64,
        of: Box<Sampler>,
    },
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// Maximum draws of a normal value until one is in range. In the widest distribution, one in three is out of range.
/// More draws fail only if the range is between two adjacent doubles.
const MOST_DRAWS: u32 = 100;
const CONSONANTS: &[u8; 16] = b"bcdfghjklmnprstv";
const VOWELS: &[u8; 4] = b"aeio";

impl Sampler {
    /// Checks and compiles a generator. `path`: its place in the plan, for errors.
    pub fn compile(generator: &Generator, path: &str, place: &mut Place<'_>) -> Result<Self, PlanError> {
        let wrong = |problem: &str| Err(PlanError::invalid(path, problem));
        let kind = match generator {
            Generator::Constant { value } => Kind::Constant(owned(value)),
            Generator::Variable { name } => match place {
                Place::Row => return wrong("a column cannot use a variable; variables exist only in transactions"),
                Place::Transaction(names) => match names.find(name) {
                    Some(slot) => Kind::Variable(slot),
                    None => return wrong(&format!("no earlier step sets the variable `{name}`")),
                },
            },
            Generator::Expression { text, tree, columns } => match place {
                Place::Row => Kind::Expression(Box::new(Compiled::in_row(tree, text, path, columns)?)),
                Place::Transaction(_) => return wrong("in a transaction, an expression must be evaluated before"),
            },
            Generator::Serial { start, step, counter } => Kind::Serial {
                start: *start,
                step: *step,
                counter: place.counter(counter.as_deref()),
            },
            Generator::NextKey { space, start } => {
                let (slot, space) = place.key_space(space, path)?;
                Kind::NextKey {
                    slot,
                    space,
                    start: *start,
                }
            }
            Generator::LatestKey { space, start, exponent } => {
                if *start == 0 || exponent.is_nan() || *exponent <= 0.0 {
                    return wrong("`start` must be at least 1, and `exponent` above 0");
                }
                let (_, space) = place.key_space(space, path)?;
                Kind::LatestKey {
                    space,
                    start: *start,
                    exponent: *exponent,
                }
            }
            Generator::Uniform { low, high } => Kind::Uniform {
                low: *low,
                bound: width(*low, *high, path)?,
            },
            Generator::UniformReal { low, high } => {
                if !(low.is_finite() && high.is_finite() && low < high) {
                    return wrong("`low` must be less than `high`, and both must be finite");
                }
                Kind::UniformReal {
                    low: *low,
                    width: high - low,
                }
            }
            Generator::Zipf {
                low,
                high,
                exponent,
                scattered,
            } => {
                let bound = width(*low, *high, path)?;
                match Zipf::new(bound as f64, *exponent) {
                    Ok(ranks) if *exponent > 0.0 => Kind::Zipf {
                        low: *low,
                        bound,
                        ranks,
                        scattered: *scattered,
                    },
                    _ => return wrong("`exponent` must be a number above 0"),
                }
            }
            Generator::Gaussian { low, high, deviations } => {
                width(*low, *high, path)?;
                if deviations.is_nan() || *deviations < 1.0 {
                    return wrong("`deviations` must be at least 1, or most draws would fall outside the range");
                }
                let (a, b) = (*low as f64, *high as f64);
                Kind::Gaussian {
                    middle: f64::midpoint(a, b),
                    deviation: (b - a) / 2.0 / deviations,
                    low: *low,
                    high: *high,
                }
            }
            Generator::Text { min, max, characters } => {
                within(*max, 0, LONGEST_TEXT, path)?;
                let (min, bound) = (*min, width(i64::from(*min), i64::from(*max), path)?);
                match characters {
                    None => Kind::Text { min, bound },
                    Some(characters) if characters.is_empty() => {
                        return wrong("`characters` must contain at least one character");
                    }
                    Some(characters) => Kind::Characters {
                        min,
                        bound,
                        characters: characters.chars().collect(),
                    },
                }
            }
            Generator::Words { min, max, vocabulary } => {
                within(*max, 0, MOST_WORDS, path)?;
                Kind::Words {
                    min: *min,
                    bound: width(i64::from(*min), i64::from(*max), path)?,
                    vocabulary: vocabulary.as_ref().map(|of| Vocabulary::new(of, path)).transpose()?,
                }
            }
            Generator::Pick { values, weights } => {
                if values.is_empty() {
                    return wrong("`values` must contain at least one value");
                }
                let alike = vec![1.0; values.len()];
                let weights = weights.as_ref().unwrap_or(&alike);
                if weights.len() != values.len() {
                    return wrong("`weights` must contain one number for each value");
                }
                Kind::Pick {
                    values: values.iter().map(owned).collect(),
                    thresholds: thresholds(weights, path)?,
                }
            }
            Generator::Uuid {
                version,
                format,
                counter,
            } => {
                if let UuidKind::TimeBlocked {
                    interval_length: a,
                    interval_count: b,
                }
                | UuidKind::SequenceBlocked {
                    block_size: a,
                    block_count: b,
                    ..
                } = version
                    && (*a == 0 || *b == 0)
                {
                    return wrong("the size and the number of blocks must be at least 1");
                }
                let counter = matches!(version, UuidKind::SequenceBlocked { .. })
                    .then(|| place.counter(counter.as_deref()))
                    .flatten();
                Kind::Uuid {
                    identifier: Identifier::new(*version, counter),
                    format: *format,
                }
            }
            Generator::Format { template, parts } => {
                let template = Template::parse(template);
                if template.places() != parts.len() {
                    let places = template.places();
                    return wrong(&format!(
                        "the template has {places} places `{{}}` for {} parts",
                        parts.len()
                    ));
                }
                let parts = parts
                    .iter()
                    .enumerate()
                    .map(|(i, part)| Self::compile(part, &format!("{path}.parts[{i}]"), place))
                    .collect::<Result<_, _>>()?;
                Kind::Format { template, parts }
            }
            Generator::Choice { of, weights, index } => {
                let alike = vec![1.0; of.len()];
                let weights = weights.as_ref().unwrap_or(&alike);
                if of.is_empty() || weights.len() != of.len() {
                    return wrong("`of` must contain at least one generator, and `weights` one number for each");
                }
                let of = Self::compile_all(of, path, place)?;
                let index = index
                    .as_ref()
                    .map(|index| Self::compile(index, &format!("{path}.index"), place).map(Box::new));
                Kind::Choice {
                    of,
                    thresholds: thresholds(weights, path)?,
                    index: index.transpose()?,
                }
            }
            Generator::Time { of, format } => Kind::Time {
                of: Box::new(Self::compile(of, &format!("{path}.of"), place)?),
                format: *format,
            },
            Generator::Object { names, of } => {
                if names.len() != of.len() {
                    return wrong("give one name for each generator");
                }
                Kind::Object {
                    names: names.iter().map(|name| json::quoted(name) + ": ").collect(),
                    of: Self::compile_all(of, path, place)?,
                }
            }
            Generator::List { of, count } => {
                let count = count
                    .as_ref()
                    .map(|count| Self::compile(count, &format!("{path}.count"), place).map(Box::new));
                Kind::List {
                    of: Self::compile_all(of, path, place)?,
                    count: count.transpose()?,
                }
            }
            Generator::Now { format } => Kind::Now(*format),
            Generator::Reference { of, stream, row } => {
                let of = Self::compile(of, &format!("{path}.of"), &mut Place::Row)?;
                let row = Self::compile(row, &format!("{path}.row"), place)?;
                fuse(of, *stream, row)
            }
            Generator::Nullable { share, of } => Kind::Nullable {
                threshold: probability(*share, path)?,
                of: Box::new(Self::compile(of, &format!("{path}.of"), place)?),
            },
        };
        Ok(Self(kind))
    }

    fn compile_all(of: &[Generator], path: &str, place: &mut Place<'_>) -> Result<Box<[Self]>, PlanError> {
        let compiled = of
            .iter()
            .enumerate()
            .map(|(i, each)| Self::compile(each, &format!("{path}.of[{i}]"), place));
        compiled.collect()
    }

    /// The value, if the generator is uniform over integers.
    #[inline(always)]
    pub fn uniform(&self, stream: &mut Stream) -> Option<i64> {
        match &self.0 {
            Kind::Uniform { low, bound } => Some(low.wrapping_add(below(stream.next_u64(), *bound) as i64)),
            _ => None,
        }
    }

    /// Generates a value and appends it to the list.
    pub fn sample(&self, scope: &mut Scope<'_>, out: &mut Values) {
        match &self.0 {
            Kind::Constant(value) => out.push(value.view()),
            Kind::Variable(slot) => out.push(scope.variables[*slot].view()),
            Kind::UniformReal { low, width } => out.push_real(low + width * unit(scope.stream)),
            Kind::Pick { values, thresholds } => out.push(values[choose(thresholds, scope.stream)].view()),
            Kind::Uuid { identifier, format } => identifier.sample(*format, scope, out),
            Kind::Now(TimeFormat::UnixSeconds) => out.push_integer((unix_milliseconds() / 1000) as i64),
            Kind::Now(TimeFormat::UnixMilliseconds) => out.push_integer(unix_milliseconds() as i64),
            Kind::Reference { of, stream, row } => {
                let row = row.position(scope);
                let mut values = row_stream(scope.seed, *stream, row.row);
                let mut inner = row_scope(scope.seed, &mut values, row);
                of.sample(&mut inner, out);
                if let Some(problem) = inner.problem.take() {
                    scope.problem = Some(problem);
                }
            }
            Kind::Choice { .. } => self.chosen(scope).sample(scope, out),
            Kind::Expression(expression) => match expression.in_scope(scope) {
                Ok(Scalar::Null) => out.push_null(),
                Ok(Scalar::Boolean(v)) => out.push_integer(i64::from(v)),
                Ok(Scalar::Integer(v)) => out.push_integer(v),
                Ok(Scalar::Double(v)) => out.push_real(v),
                Err(problem) => {
                    scope.problem = Some(problem.into());
                    out.push_null();
                }
            },
            Kind::Nullable { threshold, of } => {
                if scope.stream.next_u64() < *threshold {
                    out.push_null();
                } else {
                    of.sample(scope, out);
                }
            }
            Kind::Text { .. }
            | Kind::Characters { .. }
            | Kind::Words { .. }
            | Kind::Format { .. }
            | Kind::Object { .. }
            | Kind::List { .. }
            | Kind::Time { .. }
            | Kind::Now(TimeFormat::Text) => {
                out.push_text(|text| self.write(scope, text));
            }
            Kind::Serial { .. }
            | Kind::NextKey { .. }
            | Kind::LatestKey { .. }
            | Kind::Uniform { .. }
            | Kind::Zipf { .. }
            | Kind::Gaussian { .. } => {
                out.push_integer(self.integer(scope));
            }
        }
    }

    /// Generates a value as an integer: reals are truncated, text is parsed as a number, null is 0.
    pub fn integer(&self, scope: &mut Scope<'_>) -> i64 {
        match &self.0 {
            Kind::Serial { start, step, counter } => {
                start.wrapping_add(step.wrapping_mul(index(*counter, scope) as i64))
            }
            Kind::Uniform { low, bound } => low.wrapping_add(below(scope.stream.next_u64(), *bound) as i64),
            Kind::NextKey { slot, space, start } => {
                let key = match &mut scope.taken {
                    Some(taken) => taken.take(*slot, space),
                    None => space.issue(),
                };
                (start + key) as i64
            }
            Kind::LatestKey { space, start, exponent } => {
                let keys = start + space.acknowledged();
                // Cheap to make, and the number of keys grows.
                let rank = Zipf::new(keys as f64, *exponent).map_or(1.0, |ranks| ranks.sample(scope.stream));
                (keys - (rank as u64).clamp(1, keys)) as i64
            }
            Kind::Zipf {
                low,
                bound,
                ranks,
                scattered,
            } => {
                let rank = (ranks.sample(scope.stream) as u64).clamp(1, *bound) - 1;
                let place = if *scattered {
                    permute(rank, *bound, scope.seed)
                } else {
                    rank
                };
                low.wrapping_add(place as i64)
            }
            Kind::Gaussian {
                middle,
                deviation,
                low,
                high,
            } => {
                let mut value = *low;
                for _ in 0..MOST_DRAWS {
                    let draw: f64 = StandardNormal.sample(scope.stream);
                    value = (middle + deviation * draw).round() as i64;
                    if (*low..=*high).contains(&value) {
                        return value;
                    }
                }
                value.clamp(*low, *high)
            }
            Kind::Time { of, .. } => of.integer(scope),
            _ => {
                let mut values = Values::default();
                self.sample(scope, &mut values);
                match values.get(0) {
                    Some(Value::Integer(v)) => v,
                    Some(Value::Real(v)) => v as i64,
                    Some(Value::Text(v)) => v.trim().parse().unwrap_or(0),
                    _ => 0,
                }
            }
        }
    }

    /// The row that a reference is to. The own row and the parent's row keep their parents.
    fn position(&self, scope: &mut Scope<'_>) -> Position {
        match &self.0 {
            Kind::Serial {
                start: 0,
                step: 1,
                counter: None,
            } => scope.row,
            Kind::Expression(expression) if expression.is_parent() => scope.row.of_parent(),
            _ => Position::of(self.integer(scope) as u64),
        }
    }

    /// One of the generators of a choice.
    fn chosen(&self, scope: &mut Scope<'_>) -> &Self {
        match &self.0 {
            Kind::Choice { of, thresholds, index } => match index {
                None => &of[choose(thresholds, scope.stream)],
                Some(index) => &of[index.integer(scope).rem_euclid(of.len() as i64) as usize],
            },
            _ => self,
        }
    }

    /// The value in an expression. A date is the number of its days since 1970, a timestamp of its seconds.
    pub(crate) fn scalar(&self, scope: &mut Scope<'_>, name: &str) -> Result<Scalar, EvaluationError> {
        match &self.0 {
            Kind::Serial { .. } | Kind::Uniform { .. } | Kind::Zipf { .. } | Kind::Gaussian { .. } => {
                Ok(Scalar::Integer(self.integer(scope)))
            }
            Kind::Time { of, .. } => of.scalar(scope, name),
            Kind::Choice { .. } => self.chosen(scope).scalar(scope, name),
            Kind::Expression(expression) => expression.value(scope),
            Kind::Reference { of, stream, row } => {
                let row = row.position(scope);
                let mut values = row_stream(scope.seed, *stream, row.row);
                of.scalar(&mut row_scope(scope.seed, &mut values, row), name)
            }
            _ => {
                let mut values = Values::default();
                self.sample(scope, &mut values);
                let mut value = Owned::Null;
                if let Some(sampled) = values.get(0) {
                    value.assign(sampled);
                }
                read(&value, name)
            }
        }
    }

    /// Generates a value and appends its text.
    fn write(&self, scope: &mut Scope<'_>, text: &mut Text<'_>) {
        match &self.0 {
            Kind::Text { min, bound } => {
                let mut left = *min as usize + below(scope.stream.next_u64(), *bound) as usize;
                while left > 0 {
                    let mut chunk = scope.stream.next_u64().to_le_bytes();
                    for byte in &mut chunk {
                        *byte = ALPHABET[usize::from(*byte & 63)];
                    }
                    let taken = left.min(chunk.len());
                    text.push_ascii(&chunk[..taken]);
                    left -= taken;
                }
            }
            Kind::Words { min, bound, vocabulary } => {
                let count = u64::from(*min) + below(scope.stream.next_u64(), *bound);
                for word in 0..count {
                    if word > 0 {
                        text.push_str(" ");
                    }
                    if let Some(vocabulary) = vocabulary {
                        vocabulary.write(scope.stream, text);
                        continue;
                    }
                    let mut bits = scope.stream.next_u64();
                    let syllables = 2 + (bits & 1);
                    bits >>= 1;
                    for _ in 0..syllables {
                        text.push_ascii(&[CONSONANTS[(bits & 15) as usize], VOWELS[((bits >> 4) & 3) as usize]]);
                        bits >>= 6;
                    }
                }
            }
            Kind::Characters { min, bound, characters } => {
                let count = u64::from(*min) + below(scope.stream.next_u64(), *bound);
                for _ in 0..count {
                    let chosen = below(scope.stream.next_u64(), characters.len() as u64);
                    text.push_str(characters[chosen as usize].encode_utf8(&mut [0; 4]));
                }
            }
            Kind::Format { template, parts } => template.write(scope, parts, text),
            Kind::Object { .. } | Kind::List { .. } => self.write_json(scope, text),
            Kind::Time { of, format } => {
                let time = of.integer(scope);
                match format {
                    DateFormat::Date => write_date(time, text),
                    DateFormat::Timestamp => write_time(time, text),
                }
            }
            Kind::Choice { .. } => self.chosen(scope).write(scope, text),
            Kind::Now(TimeFormat::Text) => write_time((unix_milliseconds() / 1000) as i64, text),
            Kind::Uuid { identifier, format } => identifier.write(*format, scope, text),
            Kind::Serial { .. }
            | Kind::NextKey { .. }
            | Kind::LatestKey { .. }
            | Kind::Uniform { .. }
            | Kind::Zipf { .. }
            | Kind::Gaussian { .. } => {
                let _ = write!(text, "{}", self.integer(scope));
            }
            _ => {
                let mut values = Values::default();
                self.sample(scope, &mut values);
                match values.get(0) {
                    Some(Value::Integer(v)) => drop(write!(text, "{v}")),
                    Some(Value::Real(v)) => drop(write!(text, "{v}")),
                    Some(Value::Text(v)) => text.push_str(v),
                    _ => {}
                }
            }
        }
    }
}

impl Place<'_> {
    fn counter(&mut self, name: Option<&str>) -> Option<usize> {
        match self {
            Place::Row => None,
            Place::Transaction(names) => Some(names.counter(name)),
        }
    }

    fn key_space(&mut self, name: &str, path: &str) -> Result<(usize, Arc<KeySpace>), PlanError> {
        match self {
            Place::Row => Err(PlanError::invalid(path, "a column cannot use a key space")),
            Place::Transaction(names) => Ok(names.key_space(name)),
        }
    }
}

/// The scope for generating a column's value in one row.
pub fn row_scope(seed: u64, stream: &mut Stream, row: Position) -> Scope<'_> {
    Scope {
        seed,
        stream,
        row,
        variables: &[],
        counters: &mut [],
        client: (0, 1),
        taken: None,
        problem: None,
    }
}

fn owned(literal: &Literal) -> Owned {
    match literal {
        Literal::Null => Owned::Null,
        Literal::Boolean(v) => Owned::Boolean(*v),
        Literal::Integer(v) => Owned::Integer(*v),
        Literal::Real(v) => Owned::Real(*v),
        Literal::Text(v) => Owned::Text(v.clone()),
    }
}

fn width(low: i64, high: i64, path: &str) -> Result<u64, PlanError> {
    if low > high {
        return Err(PlanError::invalid(
            path,
            format!("the minimum {low} is greater than the maximum {high}"),
        ));
    }
    // The full 64-bit range has 2^64 values, one more than fits. In that case the maximum value is left out.
    Ok(high.abs_diff(low).saturating_add(1))
}

/// A reference to a serial column at a uniform row is itself a uniform draw, so this common case needs no second
/// stream.
fn fuse(of: Sampler, stream: u64, row: Sampler) -> Kind {
    match (&of.0, &row.0) {
        (
            Kind::Serial {
                start,
                step: 1,
                counter: None,
            },
            Kind::Uniform { low, bound },
        ) => Kind::Uniform {
            low: start.wrapping_add(*low),
            bound: *bound,
        },
        _ => Kind::Reference {
            of: Box::new(of),
            stream,
            row: Box::new(row),
        },
    }
}

/// A real number from 0 up to but not including 1, with 53 random bits.
fn unit(stream: &mut Stream) -> f64 {
    (stream.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
}

#[cfg(test)]
mod tests;
