//! The systems a worker can put under load: a folder for each engine, and a line for each in [`registry`].
//!
//! What an engine's folder must hold is written in `dbdyno_engine::driver`. What several share lies beside the folders: what
//! servers have in common, texts of SQL, which names lead beyond a database.

pub mod duckdb;
pub mod http;
pub mod mongodb;
pub mod mysql;
pub mod null;
mod os_cache;
pub mod postgresql;
mod reach;
pub mod registry;
pub mod server;
mod sql_text;
pub mod sqlite;
pub mod sqlserver;
mod uses;

pub use registry::Target;
