//! What a client carries out.
//!
//! A plan's transactions are compiled into flat [`Programs`], whose values come from [`sampler`]s and [`expression`]s. Nothing
//! here does I/O or knows an engine. All that is drawn depends on a seed alone ([`random`]).

pub mod expression;
pub mod names;
mod program;
pub mod random;
pub mod sampler;
pub mod value;
pub mod vocabulary;

pub use program::{ClientState, Execute, Op, Program, Programs, Saved};
