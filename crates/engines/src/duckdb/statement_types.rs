//! Statement types (`duckdb_statement_type`).

#![allow(missing_docs)] // DuckDB's documentation describes them.

pub const SELECT: i32 = 1;
pub const INSERT: i32 = 2;
pub const UPDATE: i32 = 3;
pub const EXPLAIN: i32 = 4;
pub const DELETE: i32 = 5;
pub const PREPARE: i32 = 6;
pub const CREATE: i32 = 7;
pub const EXECUTE: i32 = 8;
pub const ALTER: i32 = 9;
pub const TRANSACTION: i32 = 10;
pub const COPY: i32 = 11;
pub const ANALYZE: i32 = 12;
pub const VARIABLE_SET: i32 = 13;
pub const DROP: i32 = 15;
pub const PRAGMA: i32 = 17;
pub const VACUUM: i32 = 18;
pub const CALL: i32 = 19;
pub const SET: i32 = 20;
pub const ATTACH: i32 = 25;
pub const DETACH: i32 = 26;
/// Not in the header: the library's value for MERGE INTO.
pub const MERGE: i32 = 30;
