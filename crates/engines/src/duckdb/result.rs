//! The result of a statement: chunks of rows, stored by column.

use super::api::{Api, Handle, OK, QueryResult};
use super::{kind, text_of};
use dbdyno_engine::Failure;
use dbdyno_program::value::Owned;
use dbdyno_protocol::plan::document::FailureKind;
use std::ffi::c_int;

/// `duckdb_result_type`: the result contains the number of changed rows.
const CHANGED_ROWS: c_int = 1;

/// A result, destroyed on drop.
pub struct Answer<'a> {
    api: &'a Api,
    result: QueryResult,
}

impl<'a> Answer<'a> {
    /// Runs a function that fills a result. On failure, the result contains the error message.
    pub fn of(api: &'a Api, run: impl FnOnce(*mut QueryResult) -> c_int) -> Result<Self, Failure> {
        let mut answer = Self {
            api,
            result: QueryResult::EMPTY,
        };
        if run(&raw mut answer.result) == OK {
            return Ok(answer);
        }
        // SAFETY: the result was filled, possibly with an error.
        let (code, message) = unsafe {
            let message = text_of((api.result_error)(&raw mut answer.result));
            ((api.result_error_type)(&raw mut answer.result), message)
        };
        let message = message.unwrap_or_else(|| "no reason given".into());
        Err(Failure::new(kind(code, &message), message))
    }

    /// The number of changed rows, if the statement reports it.
    pub fn changed(&mut self) -> Option<u64> {
        // SAFETY: the result is complete.
        unsafe {
            ((self.api.result_return_type)(self.result) == CHANGED_ROWS)
                .then(|| (self.api.rows_changed)(&raw mut self.result))
        }
    }

    /// The next rows, if there are more.
    pub fn chunk(&mut self) -> Option<Chunk<'a>> {
        // SAFETY: the result is complete, and each chunk is returned once.
        let handle = unsafe { (self.api.fetch_chunk)(self.result) };
        (!handle.is_null()).then(|| Chunk { api: self.api, handle })
    }

    /// Number of columns.
    pub fn columns(&mut self) -> u64 {
        // SAFETY: the result is complete.
        unsafe { (self.api.column_count)(&raw mut self.result) }
    }

    /// All remaining rows as strings. The columns must be strings or numbers.
    pub fn texts(&mut self) -> Result<Vec<Vec<String>>, Failure> {
        let types = self.types(u64::MAX);
        let mut all = Vec::new();
        while let Some(chunk) = self.chunk() {
            for row in 0..chunk.rows() as usize {
                let mut values = Vec::with_capacity(types.len());
                for (index, column) in (0..).zip(&types) {
                    values.push(match chunk.value(row, index, *column)? {
                        Owned::Text(text) => text,
                        Owned::Integer(number) => number.to_string(),
                        _ => String::new(),
                    });
                }
                all.push(values);
            }
        }
        Ok(all)
    }

    /// The types of the first columns.
    pub fn types(&mut self, columns: u64) -> Vec<Column> {
        (0..columns.min(self.columns()))
            .map(|index| self.column(index))
            .collect()
    }

    fn column(&mut self, index: u64) -> Column {
        // SAFETY: the result has this column, and the type is destroyed.
        unsafe {
            let code = (self.api.column_type)(&raw mut self.result, index);
            if code != DECIMAL {
                return Column { code, scale: 0 };
            }
            let mut kind = (self.api.column_logical_type)(&raw mut self.result, index);
            let column = Column {
                code: (self.api.decimal_internal_type)(kind),
                scale: (self.api.decimal_scale)(kind),
            };
            (self.api.destroy_logical_type)(&raw mut kind);
            column
        }
    }
}

impl Drop for Answer<'_> {
    fn drop(&mut self) {
        // SAFETY: it is destroyed once.
        unsafe { (self.api.destroy_result)(&raw mut self.result) };
    }
}

/// The type of a column. For a decimal: the type of its underlying integer, and the number of fractional digits.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    code: c_int,
    scale: u8,
}

// The values of `duckdb_type` that can be read.
const BOOLEAN: c_int = 1;
const TINYINT: c_int = 2;
const SMALLINT: c_int = 3;
const INTEGER: c_int = 4;
const BIGINT: c_int = 5;
const UTINYINT: c_int = 6;
const USMALLINT: c_int = 7;
const UINTEGER: c_int = 8;
const UBIGINT: c_int = 9;
const FLOAT: c_int = 10;
const DOUBLE: c_int = 11;
const HUGEINT: c_int = 16;
const VARCHAR: c_int = 17;
const BLOB: c_int = 18;
const DECIMAL: c_int = 19;

/// A chunk of rows.
pub struct Chunk<'a> {
    api: &'a Api,
    handle: Handle,
}

impl Chunk<'_> {
    /// Number of rows.
    pub fn rows(&self) -> u64 {
        // SAFETY: the chunk exists.
        unsafe { (self.api.data_chunk_get_size)(self.handle) }
    }

    /// A value. Fails for an unsupported type.
    pub fn value(&self, row: usize, index: u64, column: Column) -> Result<Owned, Failure> {
        // SAFETY: the chunk has this row and column, and the column's values are of its type.
        unsafe {
            let vector = (self.api.data_chunk_get_vector)(self.handle, index);
            let valid = (self.api.vector_get_validity)(vector);
            if !valid.is_null() && *valid.add(row / 64) >> (row % 64) & 1 == 0 {
                return Ok(Owned::Null);
            }
            let data = (self.api.vector_get_data)(vector);
            let whole = match column.code {
                BOOLEAN => i128::from(*data.cast::<u8>().add(row)),
                TINYINT => i128::from(*data.cast::<i8>().add(row)),
                SMALLINT => i128::from(*data.cast::<i16>().add(row)),
                INTEGER => i128::from(*data.cast::<i32>().add(row)),
                BIGINT => i128::from(*data.cast::<i64>().add(row)),
                UTINYINT => i128::from(*data.cast::<u8>().add(row)),
                USMALLINT => i128::from(*data.cast::<u16>().add(row)),
                UINTEGER => i128::from(*data.cast::<u32>().add(row)),
                UBIGINT => i128::from(*data.cast::<u64>().add(row)),
                // Two halves, the lower one first.
                HUGEINT => data.cast::<i128>().add(row).read_unaligned(),
                FLOAT => return Ok(Owned::Real(f64::from(*data.cast::<f32>().add(row)))),
                DOUBLE => return Ok(Owned::Real(*data.cast::<f64>().add(row))),
                VARCHAR => {
                    return Ok(Owned::Text(
                        String::from_utf8_lossy(bytes(data.cast::<Bytes>().add(row))).into(),
                    ));
                }
                BLOB => return Ok(Owned::Bytes(bytes(data.cast::<Bytes>().add(row)).into())),
                code => {
                    let what = format!("column {} has the unsupported type {code}: cast it", index + 1);
                    return Err(Failure::new(FailureKind::Other, what));
                }
            };
            if column.scale > 0 {
                return Ok(Owned::Real(whole as f64 / 10_f64.powi(i32::from(column.scale))));
            }
            Ok(i64::try_from(whole).map_or(Owned::Real(whole as f64), Owned::Integer))
        }
    }
}

impl Drop for Chunk<'_> {
    fn drop(&mut self) {
        // SAFETY: it is destroyed once.
        unsafe { (self.api.destroy_data_chunk)(&raw mut self.handle) };
    }
}

/// `duckdb_string_t`: short strings are stored inline, longer ones as a prefix and a pointer.
#[repr(C)]
#[derive(Clone, Copy)]
struct Bytes {
    length: u32,
    rest: [u8; 12],
}

/// # Safety The value belongs to a chunk that still exists.
unsafe fn bytes<'a>(value: *const Bytes) -> &'a [u8] {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let length = (*value).length as usize;
        let start = if length <= 12 {
            (&raw const (*value).rest).cast::<u8>()
        } else {
            (&raw const (*value).rest)
                .cast::<u8>()
                .add(4)
                .cast::<*const u8>()
                .read_unaligned()
        };
        std::slice::from_raw_parts(start, length)
    }
}
