//! Evaluation errors.

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EvaluationError {
    /// An integer divided by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// A result outside the range of a 64-bit integer.
    #[error("the result of `{0}` is out of the range of a 64-bit integer")]
    Overflow(&'static str),
    /// A double outside the integer range, where an integer is required.
    #[error("{0} is out of the range of a 64-bit integer")]
    NotAnInteger(f64),
    /// A value of the wrong type.
    #[error("{0} is not {1}")]
    Type(&'static str, &'static str),
    /// A string variable that is not a number.
    #[error("the variable `{name}` holds {value}, which is not a number")]
    NotANumber {
        /// The variable.
        name: String,
        /// Its value, formatted for the message.
        value: String,
    },
    /// An invalid argument of a function.
    #[error("{0}")]
    Argument(String),
}
