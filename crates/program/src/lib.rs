//! The program that a client runs.
//!
//! A plan's transactions are compiled into flat [`Programs`]. Their values come from [`sampler`]s and [`expression`]s.
//! This crate does no I/O and is independent of engines. All random draws depend only on a seed ([`random`]).

pub mod expression;
pub mod key_space;
pub mod names;
mod program;
pub mod random;
pub mod row_buffer;
pub mod sampler;
pub mod value;
pub mod vocabulary;

pub use program::{ClientState, Execute, Op, Program, Programs, SavedState};
