//! The plans that the controller sends to a worker, and the events that the worker writes back.
//!
//! It contains the types of both, their JSON Schemas, and checks that need only the plan. It depends on no other crate
//! of dbdyno. Most types of events are filled in by the crate that measures them.

pub mod btree;
pub mod event;
pub mod plan;
