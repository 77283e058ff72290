//! What is wrong with a setting.

/// Why a setting can be neither simulated nor predicted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Impossible {
    /// A leaf that holds too few or too many entries.
    #[error(
        "a leaf of {leaf_bytes} bytes with entries of {entry_bytes} holds {entries} of them; it must hold 4 to 60000"
    )]
    Leaf {
        /// Bytes of a leaf that entries can use.
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
        /// What would be right.
        range: &'static str,
    },
    /// Sizes that are not in ascending order, or before the start.
    #[error("the size {size} comes after {before} rows; sizes must ascend, each by a window at least")]
    Order {
        /// The size, rows.
        size: u64,
        /// Rows that the tree has by then.
        before: u64,
    },
    /// A scale at which the simulated tree is no image of the full one.
    #[error("at the scale 1/{factor}, {what} would be {value}; it must be at least {least}")]
    Scale {
        /// The factor.
        factor: u64,
        /// What becomes too small.
        what: &'static str,
        /// How small.
        value: u64,
        /// How large it must be.
        least: u64,
    },
    /// A simulation that needs more memory or pages than there are numbers for.
    #[error("{leaves} leaves and {cache} pages of cache are too many to simulate")]
    TooLarge {
        /// Leaves at the end, about.
        leaves: u64,
        /// Pages of the caches.
        cache: u64,
    },
    /// Rows that are too many, at any scale at which the simulated tree is an image of the full one.
    #[error("{rows} rows over so small a cache, or in so few blocks, are too many to simulate")]
    TooMany {
        /// Rows at the end.
        rows: u64,
    },
    /// An order of keys that the analytic model does not know.
    #[error("there are no formulas for keys that come in blocks; they can be simulated")]
    NoFormula,
}
