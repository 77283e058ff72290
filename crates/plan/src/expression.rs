//! Expressions that are computed as a transaction runs: those of pgbench's `\set` and `\if`.
//!
//! A value is an integer, a double, a truth value or null, and an operation that cannot be carried out is an error that
//! ends the transaction: integers do not wrap around. What each function does with which types is that of pgbench in
//! PostgreSQL 15, found from its documentation and by asking it; `docs/pgbench.md` lists what differs.

mod evaluate;
mod functions;
#[cfg(test)]
mod tests;

pub use evaluate::{Context, Scalar};

use crate::PlanError;
use crate::maker::Names;
use crate::value::Literal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An expression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Expression {
    /// A value: a number, a truth value or null.
    Constant {
        /// It.
        value: Literal,
    },
    /// What a variable of the transaction holds. Where no earlier step sets it, `client_id` is the client's number from
    /// 0, `random_seed` the seed of the trial's random draws and `default_seed` a number that depends on the seed of the
    /// data only.
    Variable {
        /// Its name.
        name: String,
    },
    /// An operator or a function.
    Call {
        /// Which.
        function: Function,
        /// Its arguments.
        arguments: Vec<Expression>,
    },
    /// The value of the first branch whose condition holds.
    Case {
        /// The branches; at least one.
        branches: Vec<Branch>,
        /// The value where none holds; null if left out.
        #[serde(default)]
        otherwise: Option<Box<Expression>>,
    },
}

/// A branch of a `case`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// The condition: numbers other than zero hold, null does not.
    pub when: Expression,
    /// The value.
    pub then: Expression,
}

/// The operators and functions. Where nothing else is said, one null argument makes the result null.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Function {
    /// `a + b`: a double if either is, as in the next three.
    Add,
    /// `a - b`.
    Subtract,
    /// `a * b`.
    Multiply,
    /// `a / b`, cut off towards zero between integers.
    Divide,
    /// `a % b` of integers: the remainder has the sign of `a`.
    Modulo,
    /// `- a`.
    Negate,
    /// `a = b`, of numbers, as all comparisons.
    Equal,
    /// `a <> b`.
    NotEqual,
    /// `a < b`.
    Less,
    /// `a <= b`.
    LessOrEqual,
    /// `a > b`.
    Greater,
    /// `a >= b`.
    GreaterOrEqual,
    /// `a and b` of truth values. If `a` decides (by being null, too), `b` is not computed.
    And,
    /// `a or b`; likewise.
    Or,
    /// `not a`.
    Not,
    /// `a is b`: whether both are of the same type and equal; null is null.
    Is,
    /// Whether a value counts as true: a number other than zero does, null does not.
    Truth,
    /// `a & b` of integers.
    BitAnd,
    /// `a | b`.
    BitOr,
    /// `a # b`: exclusive or.
    BitXor,
    /// `~ a`.
    BitNot,
    /// `a << b`: by `b` modulo 64, as processors do it.
    ShiftLeft,
    /// `a >> b`: likewise; the sign stays.
    ShiftRight,
    /// The amount of a number.
    Abs,
    /// The argument itself.
    Debug,
    /// A number as a double.
    Double,
    /// A number as an integer: the nearest, of two the even one.
    Int,
    /// e to the power of a number.
    Exp,
    /// The natural logarithm.
    Ln,
    /// π.
    Pi,
    /// A number to the power of another, a double.
    Power,
    /// The square root.
    Sqrt,
    /// The greatest of one or more numbers; a double if any is.
    Greatest,
    /// The least.
    Least,
    /// `random(low, high)`: an integer from low to high, all equally likely.
    Random,
    /// `random_gaussian(low, high, parameter)`: truncated `parameter` standard deviations from the middle.
    RandomGaussian,
    /// `random_exponential(low, high, parameter)`: the greater the parameter, the more often the least values.
    RandomExponential,
    /// `random_zipfian(low, high, parameter)`: the k-th value in proportion to 1 / k^parameter.
    RandomZipfian,
    /// `hash_fnv1a(value, seed)`.
    HashFnv1a,
    /// `hash_murmur2(value, seed)`.
    HashMurmur2,
    /// `permute(i, size, seed)`: the place of `i` modulo size in a pseudorandom permutation of 0 to size - 1.
    Permute,
}

impl Function {
    /// The least and the greatest number of arguments.
    fn arguments(self) -> (usize, usize) {
        match self {
            Self::Pi => (0, 0),
            Self::Negate
            | Self::Not
            | Self::Truth
            | Self::BitNot
            | Self::Abs
            | Self::Debug
            | Self::Double
            | Self::Int
            | Self::Exp
            | Self::Ln
            | Self::Sqrt => (1, 1),
            Self::Greatest | Self::Least => (1, usize::MAX),
            Self::RandomGaussian | Self::RandomExponential | Self::RandomZipfian | Self::Permute => (3, 3),
            _ => (2, 2),
        }
    }
}

/// An expression ready to be computed: checked, and with numbers for names.
#[derive(Debug, Clone)]
pub struct Compiled {
    text: Box<str>,
    root: Node,
}

#[derive(Debug, Clone)]
enum Node {
    Constant(Scalar),
    Variable(usize, Box<str>),
    ClientId,
    RandomSeed,
    DefaultSeed,
    Call(Function, Box<[Node]>),
    Case(Box<[(Node, Node)]>, Box<Node>),
}

impl Compiled {
    /// Checks an expression. `text` is how it was written, for errors as it runs; `path` is where it stands in the plan.
    pub fn new(expression: &Expression, text: &str, path: &str, names: &Names) -> Result<Self, PlanError> {
        Ok(Self {
            text: text.into(),
            root: compile(expression, path, names)?,
        })
    }

    /// Computes it. The error is one line: the expression as it was written, and what is wrong.
    pub fn evaluate(&self, context: &mut Context<'_>) -> Result<Scalar, String> {
        evaluate::evaluate(&self.root, context).map_err(|trouble| format!("`{}`: {trouble}", self.text))
    }
}

fn compile(expression: &Expression, path: &str, names: &Names) -> Result<Node, PlanError> {
    Ok(match expression {
        Expression::Constant { value } => Node::Constant(match value {
            Literal::Null => Scalar::Null,
            Literal::Boolean(v) => Scalar::Boolean(*v),
            Literal::Integer(v) => Scalar::Integer(*v),
            Literal::Real(v) => Scalar::Double(*v),
            Literal::Text(_) => {
                let problem = "a constant of an expression is a number, a truth value or null";
                return Err(PlanError::invalid(path, problem));
            }
        }),
        Expression::Variable { name } => match (names.find(name), name.as_str()) {
            (Some(slot), _) => Node::Variable(slot, name.as_str().into()),
            (None, "client_id") => Node::ClientId,
            (None, "random_seed") => Node::RandomSeed,
            (None, "default_seed") => Node::DefaultSeed,
            _ => {
                let problem = format!("no earlier step sets the variable `{name}`");
                return Err(PlanError::invalid(path, problem));
            }
        },
        Expression::Call { function, arguments } => {
            let (least, most) = function.arguments();
            if !(least..=most).contains(&arguments.len()) {
                let wanted = if least == most { "" } else { " or more" };
                let problem = format!("{function:?} takes {least}{wanted} arguments, not {}", arguments.len());
                return Err(PlanError::invalid(path, problem));
            }
            let arguments = arguments.iter().map(|each| compile(each, path, names));
            Node::Call(*function, arguments.collect::<Result<_, _>>()?)
        }
        Expression::Case { branches, otherwise } => {
            if branches.is_empty() {
                return Err(PlanError::invalid(path, "a `case` has at least one branch"));
            }
            let pairs = branches
                .iter()
                .map(|each| Ok((compile(&each.when, path, names)?, compile(&each.then, path, names)?)))
                .collect::<Result<_, PlanError>>()?;
            let otherwise = match otherwise {
                Some(value) => compile(value, path, names)?,
                None => Node::Constant(Scalar::Null),
            };
            Node::Case(pairs, Box::new(otherwise))
        }
    })
}
