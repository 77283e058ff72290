//! The load generator: clients, pacing, warm-up, recording, accounting.
//!
//! [`trial::run`] runs one trial on any engine. The client loop ([`client`]) is written once, generic over the engine's
//! session, and monomorphized for each engine: no dynamic dispatch, allocation, lock or formatting per operation.

pub mod accounting;
pub mod attempt;
mod beside;
pub mod capacity;
pub mod changed;
pub mod client;
mod coordinate;
pub mod coordinator;
pub mod error;
pub mod event;
pub mod failures;
pub mod interleaving;
pub mod latency;
pub mod live;
pub mod operations;
pub mod outcome;
pub mod pacing;
mod preloaded;
pub mod rate;
pub mod recorder;
pub mod report;
pub mod runtime;
pub mod shared;
pub mod slices;
mod suspension;
pub mod thread_usage;
mod threads;
pub mod time;
pub mod trial;

pub use accounting::Accounting;
pub use coordinator::{Coordinator, LocalCoordinator};
pub use error::TrialError;
pub use event::{Event, Interval};
pub use outcome::Outcome;
pub use trial::run;
