//! Errors in a setting.

/// Why a setting can be neither simulated nor computed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Impossible {
    /// A leaf that would contain too few or too many entries.
    #[error("a leaf of {leaf_bytes} bytes holds {entries} entries of {entry_bytes} bytes; it must hold 4 to 60000")]
    Leaf {
        /// Usable bytes of a leaf.
        leaf_bytes: u32,
        /// Bytes of an entry.
        entry_bytes: u32,
        /// Entries that fit.
        entries: u32,
    },
    /// A field outside its range.
    #[error("{field} is {value}; it must be {range}")]
    Range {
        /// The field.
        field: &'static str,
        /// Its value.
        value: f64,
        /// The allowed range.
        range: &'static str,
    },
    /// Sizes that are not in ascending order, or below the start.
    #[error("the size {size} comes after {before} rows; each size must exceed the previous one by at least a window")]
    Order {
        /// The size in rows.
        size: u64,
        /// Rows in the tree by then.
        before: u64,
    },
    /// A scale at which the simulated tree doesn't represent the full one.
    #[error("at the scale 1/{factor}, {what} would be {value}; it must be at least {least}")]
    Scale {
        /// The scale factor.
        factor: u64,
        /// The quantity that becomes too small.
        what: &'static str,
        /// Its value.
        value: u64,
        /// Its minimum.
        least: u64,
    },
    /// A simulation that needs too much memory or too many page numbers.
    #[error("{leaves} leaves and {cache} pages of cache are too many to simulate")]
    TooLarge {
        /// Approximate number of leaves at the end.
        leaves: u64,
        /// Pages in the caches.
        cache: u64,
    },
    /// Too many rows at any scale at which the simulated tree represents the full one.
    #[error("{rows} rows are too many to simulate with this cache size and this number of blocks")]
    TooMany {
        /// Rows at the end.
        rows: u64,
    },
    /// A key order that the analytic model doesn't support.
    #[error("the formulas don't cover keys in blocks; use the simulation")]
    NoFormula,
}
