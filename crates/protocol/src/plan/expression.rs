//! The tree of an expression, as the plan has it.

use crate::plan::literal::Literal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An expression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Expression {
    /// A value: a number, a Boolean or null.
    Constant {
        /// It.
        value: Literal,
    },
    /// The value of a transaction's variable. Unless an earlier step sets it, `client_id` is the client's number from
    /// 0, `random_seed` the seed of the trial's random draws and `default_seed` a number that depends on the seed of
    /// the data only.
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
        /// The value if no condition holds; null if left out.
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

/// The operators and functions. Unless stated otherwise, one null argument makes the result null.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Function {
    /// `a + b`: a double if either is. This also holds for the next three operators.
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
    /// `a and b` of Booleans. If `a` decides (by being null, too), `b` is not computed.
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
    /// `a >> b`: an arithmetic shift, which keeps the sign.
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
    pub fn arguments(self) -> (usize, usize) {
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
