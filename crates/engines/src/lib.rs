//! The systems a worker can put under load: a folder for each engine, and a line for each in [`registry`].
//!
//! What an engine's folder must hold is written in `dbdyno_engine::driver`. What several share lies beside the folders: what
//! servers have in common, texts of SQL and their tokens, which statements lead beyond a database.

// What only servers use of the files that all share.
#![cfg_attr(not(feature = "servers"), allow(dead_code))]

pub mod duckdb;
#[cfg(feature = "servers")]
pub mod http;
#[cfg(feature = "servers")]
pub mod mongodb;
#[cfg(feature = "servers")]
pub mod mysql;
pub mod null;
mod os_cache;
#[cfg(feature = "servers")]
pub mod postgresql;
mod reach;
pub mod registry;
#[cfg(feature = "servers")]
pub mod server;
mod sql_text;
pub mod sqlite;
#[cfg(feature = "servers")]
pub mod sqlserver;
mod tokens;
mod uses;

pub use registry::Target;
