//! The systems that a worker can load: one folder per engine, and one line per engine in [`registry`].
//!
//! `dbdyno_engine::driver` defines what an engine's folder must contain. Shared code is next to the folders: server
//! connections, SQL text and tokens, and the analysis of statements that access something outside their database.

// Some of the shared files are used by servers only.
#![cfg_attr(not(feature = "servers"), allow(dead_code))]

pub mod duckdb;
mod external_access;
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
pub mod registry;
#[cfg(feature = "servers")]
pub mod server;
mod sql_text;
pub mod sqlite;
#[cfg(feature = "servers")]
pub mod sqlserver;
mod statements_as_sent;
mod tokens;

pub use registry::Target;
