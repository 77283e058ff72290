//! Evaluates expressions: the types of values, and the operators.

use super::error::EvaluationError;
use super::functions;
use crate::random::{Stream, mix};
use crate::sampler::{Position, Sampler, row_scope};
use crate::value::Owned;
use dbdyno_protocol::plan::expression::Function;

/// A value of an expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar {
    /// Null.
    Null,
    /// A Boolean.
    Boolean(bool),
    /// A 64-bit integer.
    Integer(i64),
    /// A double.
    Double(f64),
}

/// Inputs of an evaluation.
pub struct Context<'a> {
    /// The transaction's variables.
    pub variables: &'a [Owned],
    /// The client's random stream.
    pub stream: &'a mut Stream,
    /// The client's number, from 0.
    pub client: u32,
    /// The seed of the trial's random draws.
    pub seed: u64,
    /// The seed that the tables were filled with.
    pub data_seed: u64,
    /// The row, if the expression belongs to a column.
    pub row: Position,
}

/// A node of an expression, with names resolved to slots.
#[derive(Debug, Clone)]
pub enum Node {
    Constant(Scalar),
    Variable(usize, Box<str>),
    ClientId,
    RandomSeed,
    DefaultSeed,
    /// The numbers of a row.
    Row,
    Parent,
    Child,
    /// Another column of the same row, with its name.
    Column(Box<Sampler>, Box<str>),
    Call(Function, Box<[Node]>),
    Case(Box<[(Node, Node)]>, Box<Node>),
}

type Outcome = Result<Scalar, EvaluationError>;

/// Evaluates a node. The JSON reader bounds the depth to 128 levels.
pub fn evaluate(node: &Node, context: &mut Context<'_>) -> Outcome {
    Ok(match node {
        Node::Constant(value) => *value,
        Node::Variable(slot, name) => read(&context.variables[*slot], name)?,
        Node::ClientId => Scalar::Integer(i64::from(context.client)),
        Node::RandomSeed => Scalar::Integer(context.seed as i64),
        Node::DefaultSeed => Scalar::Integer(mix(context.data_seed) as i64),
        Node::Row => Scalar::Integer(context.row.row as i64),
        Node::Parent => Scalar::Integer(context.row.parent as i64),
        Node::Child => Scalar::Integer(context.row.child as i64),
        Node::Column(sampler, name) => {
            let scope = &mut row_scope(context.data_seed, context.stream, context.row);
            return sampler.scalar(scope, name);
        }
        Node::Call(function, arguments) => return call(*function, arguments, context),
        Node::Case(branches, otherwise) => {
            for (when, then) in branches {
                if truth(evaluate(when, context)?) {
                    return evaluate(then, context);
                }
            }
            return evaluate(otherwise, context);
        }
    })
}

fn call(function: Function, arguments: &[Node], context: &mut Context<'_>) -> Outcome {
    match (function, arguments) {
        (Function::And | Function::Or, [left, right]) => {
            let decides = function == Function::Or;
            return Ok(match evaluate(left, context)? {
                Scalar::Null => Scalar::Null,
                left if boolean(left)? == decides => Scalar::Boolean(decides),
                _ => match evaluate(right, context)? {
                    Scalar::Null => Scalar::Null,
                    right => Scalar::Boolean(boolean(right)?),
                },
            });
        }
        (Function::Is, [left, right]) => {
            let (left, right) = (evaluate(left, context)?, evaluate(right, context)?);
            return Ok(Scalar::Boolean(left == right));
        }
        (Function::Truth, [value]) => return Ok(Scalar::Boolean(truth(evaluate(value, context)?))),
        (Function::Greatest, _) => return extreme(arguments, context, |new, best| new < best),
        (Function::Least, _) => return extreme(arguments, context, |new, best| new > best),
        _ => {}
    }
    // The remaining functions take up to three arguments and return null if any is null.
    let mut values = [Scalar::Null; 3];
    let mut any_null = false;
    for (value, argument) in values.iter_mut().zip(arguments) {
        *value = evaluate(argument, context)?;
        any_null |= *value == Scalar::Null;
    }
    if any_null {
        Ok(Scalar::Null)
    } else {
        apply(function, values, context)
    }
}

fn apply(function: Function, [a, b, c]: [Scalar; 3], context: &mut Context<'_>) -> Outcome {
    use Scalar::{Boolean, Double, Integer};
    Ok(match function {
        Function::Add => return arithmetic(a, b, "+", |x, y| x + y, i64::checked_add),
        Function::Subtract => return arithmetic(a, b, "-", |x, y| x - y, i64::checked_sub),
        Function::Multiply => return arithmetic(a, b, "*", |x, y| x * y, i64::checked_mul),
        Function::Negate => return arithmetic(Integer(0), a, "-", |x, y| x - y, i64::checked_sub),
        Function::Divide => {
            if !either_double(a, b) && integer(b)? == 0 {
                integer(a)?;
                return Err(EvaluationError::DivisionByZero);
            }
            return arithmetic(a, b, "/", |x, y| x / y, i64::checked_div);
        }
        Function::Modulo => match (integer(a)?, integer(b)?) {
            (_, 0) => return Err(EvaluationError::DivisionByZero),
            (x, y) => Integer(x.wrapping_rem(y)),
        },
        Function::Equal => Boolean(compare(a, b, |x, y| x == y, |x, y| x == y)?),
        Function::NotEqual => Boolean(compare(a, b, |x, y| x != y, |x, y| x != y)?),
        Function::Less => Boolean(compare(a, b, |x, y| x < y, |x, y| x < y)?),
        Function::LessOrEqual => Boolean(compare(a, b, |x, y| x <= y, |x, y| x <= y)?),
        Function::Greater => Boolean(compare(a, b, |x, y| x > y, |x, y| x > y)?),
        Function::GreaterOrEqual => Boolean(compare(a, b, |x, y| x >= y, |x, y| x >= y)?),
        Function::Not => Boolean(!boolean(a)?),
        Function::BitAnd => Integer(integer(a)? & integer(b)?),
        Function::BitOr => Integer(integer(a)? | integer(b)?),
        Function::BitXor => Integer(integer(a)? ^ integer(b)?),
        Function::BitNot => Integer(!integer(a)?),
        Function::ShiftLeft => Integer(integer(a)?.wrapping_shl(integer(b)? as u32)),
        Function::ShiftRight => Integer(integer(a)?.wrapping_shr(integer(b)? as u32)),
        Function::Abs => match a {
            Double(v) => Double(v.abs()),
            // The minimum integer has no positive counterpart and stays unchanged.
            _ => Integer(integer(a)?.wrapping_abs()),
        },
        Function::Debug => a,
        Function::Double => Double(double(a)?),
        Function::Int => Integer(integer(a)?),
        Function::Exp => Double(double(a)?.exp()),
        Function::Ln => Double(double(a)?.ln()),
        Function::Pi => Double(std::f64::consts::PI),
        Function::Power => Double(double(a)?.powf(double(b)?)),
        Function::Sqrt => Double(double(a)?.sqrt()),
        Function::Random => Integer(functions::uniform(integer(a)?, integer(b)?, context.stream)?),
        Function::RandomGaussian => {
            let (low, high, parameter) = (integer(a)?, integer(b)?, double(c)?);
            Integer(functions::gaussian(low, high, parameter, context.stream)?)
        }
        Function::RandomExponential => {
            let (low, high, parameter) = (integer(a)?, integer(b)?, double(c)?);
            Integer(functions::exponential(low, high, parameter, context.stream)?)
        }
        Function::RandomZipfian => {
            let (low, high, parameter) = (integer(a)?, integer(b)?, double(c)?);
            Integer(functions::zipfian(low, high, parameter, context.stream)?)
        }
        Function::HashFnv1a => Integer(functions::hash_fnv1a(integer(a)?, integer(b)?)),
        Function::HashMurmur2 => Integer(functions::hash_murmur2(integer(a)?, integer(b)?)),
        Function::Permute => Integer(functions::permute(integer(a)?, integer(b)?, integer(c)?)?),
        // Handled before their arguments are evaluated.
        Function::And | Function::Or | Function::Is | Function::Truth | Function::Greatest | Function::Least => {
            Scalar::Null
        }
    })
}

fn either_double(a: Scalar, b: Scalar) -> bool {
    matches!(a, Scalar::Double(_)) || matches!(b, Scalar::Double(_))
}

/// Calculates with doubles if either value is a double, otherwise with integers.
fn arithmetic(
    a: Scalar,
    b: Scalar,
    sign: &'static str,
    doubles: fn(f64, f64) -> f64,
    integers: fn(i64, i64) -> Option<i64>,
) -> Outcome {
    if either_double(a, b) {
        return Ok(Scalar::Double(doubles(double(a)?, double(b)?)));
    }
    let result = integers(integer(a)?, integer(b)?);
    result.map(Scalar::Integer).ok_or(EvaluationError::Overflow(sign))
}

fn compare(
    a: Scalar,
    b: Scalar,
    doubles: fn(&f64, &f64) -> bool,
    integers: fn(&i64, &i64) -> bool,
) -> Result<bool, EvaluationError> {
    Ok(if either_double(a, b) {
        doubles(&double(a)?, &double(b)?)
    } else {
        integers(&integer(a)?, &integer(b)?)
    })
}

/// The best of several numbers. `worse`: whether a new number is worse than the best so far. A NaN isn't worse, and
/// isn't kept either.
fn extreme(arguments: &[Node], context: &mut Context<'_>, worse: fn(f64, f64) -> bool) -> Outcome {
    let mut values = Vec::with_capacity(arguments.len());
    for argument in arguments {
        values.push(evaluate(argument, context)?);
    }
    if values.contains(&Scalar::Null) {
        return Ok(Scalar::Null);
    }
    if values.iter().any(|value| matches!(value, Scalar::Double(_))) {
        let mut best = f64::NAN;
        for value in values {
            let new = double(value)?;
            best = if worse(new, best) { best } else { new };
        }
        return Ok(Scalar::Double(best));
    }
    let mut best = None;
    for value in values {
        let new = integer(value)?;
        // Compare by sign only, because not every integer is representable as a double.
        let keep = best.is_some_and(|best: i64| worse(f64::from(new.cmp(&best) as i8), 0.0));
        best = if keep { best } else { Some(new) };
    }
    Ok(best.map_or(Scalar::Null, Scalar::Integer))
}

/// Whether a value counts as true.
fn truth(value: Scalar) -> bool {
    match value {
        Scalar::Null => false,
        Scalar::Boolean(v) => v,
        Scalar::Integer(v) => v != 0,
        Scalar::Double(v) => v != 0.0,
    }
}

fn boolean(value: Scalar) -> Result<bool, EvaluationError> {
    match value {
        Scalar::Boolean(v) => Ok(v),
        other => Err(EvaluationError::Type(name_of(other), "a truth value")),
    }
}

fn integer(value: Scalar) -> Result<i64, EvaluationError> {
    match value {
        Scalar::Integer(v) => Ok(v),
        Scalar::Double(v) => {
            let whole = v.round_ties_even();
            // 2^63 is representable as a double, and the first value that is too large.
            if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&whole) {
                Ok(whole as i64)
            } else {
                Err(EvaluationError::NotAnInteger(v))
            }
        }
        other => Err(EvaluationError::Type(name_of(other), "a number")),
    }
}

fn double(value: Scalar) -> Result<f64, EvaluationError> {
    match value {
        Scalar::Integer(v) => Ok(v as f64),
        Scalar::Double(v) => Ok(v),
        other => Err(EvaluationError::Type(name_of(other), "a number")),
    }
}

fn name_of(value: Scalar) -> &'static str {
    match value {
        Scalar::Null => "null",
        Scalar::Boolean(_) => "a truth value",
        Scalar::Integer(_) => "an integer",
        Scalar::Double(_) => "a double",
    }
}

/// Reads a variable. A string, such as a statement may return, is converted by pgbench's rules.
pub(crate) fn read(value: &Owned, name: &str) -> Outcome {
    Ok(match value {
        Owned::Null => Scalar::Null,
        Owned::Boolean(v) => Scalar::Boolean(*v),
        Owned::Integer(v) => Scalar::Integer(*v),
        Owned::Real(v) => Scalar::Double(*v),
        Owned::Text(text) => return read_text(text).ok_or_else(|| not_a_number(name, format!("`{text}`"))),
        Owned::Bytes(_) => return Err(not_a_number(name, "bytes".to_owned())),
    })
}

fn not_a_number(name: &str, value: String) -> EvaluationError {
    EvaluationError::NotANumber {
        name: name.to_owned(),
        value,
    }
}

fn read_text(text: &str) -> Option<Scalar> {
    let lower = text.to_ascii_lowercase();
    let begins = |word: &str| !lower.is_empty() && word.starts_with(&lower);
    if lower == "null" {
        Some(Scalar::Null)
    } else if begins("true") || begins("yes") || lower == "on" {
        Some(Scalar::Boolean(true))
    } else if begins("false") || begins("no") || (begins("off") && lower != "o") {
        Some(Scalar::Boolean(false))
    } else if lower
        .trim_start_matches(['+', '-'])
        .bytes()
        .all(|byte| byte.is_ascii_digit())
    {
        lower.parse().ok().map(Scalar::Integer)
    } else {
        lower.parse().ok().map(Scalar::Double)
    }
}
