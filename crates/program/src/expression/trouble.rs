//! Why an expression has no value.

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Trouble {
    /// An integer divided by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// A result that is no 64-bit integer.
    #[error("the result of `{0}` is out of the range of a 64-bit integer")]
    Overflow(&'static str),
    /// A double where an integer is wanted, and none is near.
    #[error("{0} is out of the range of a 64-bit integer")]
    NoInteger(f64),
    /// A value of one type where another is wanted.
    #[error("{0} is not {1}")]
    Type(&'static str, &'static str),
    /// A text in a variable that is no number.
    #[error("the variable `{name}` holds {value}, which is not a number")]
    NotANumber {
        /// The variable.
        name: String,
        /// What it holds, as a reader knows it.
        value: String,
    },
    /// A function's argument that it cannot take.
    #[error("{0}")]
    Argument(String),
}
