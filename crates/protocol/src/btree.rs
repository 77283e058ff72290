//! Questions about the pages of a B-tree, and their answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One question to the simulator or to the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// The index and its engine's rules.
    pub tree: Tree,
    /// The order in which keys are inserted.
    pub keys: Keys,
    /// The initial contents of the tree.
    pub start: Start,
    /// The caches.
    pub cache: Cache,
    /// When changed pages are written, other than by eviction; without, never.
    #[serde(default)]
    pub checkpoints: Option<Checkpoints>,
    /// The log of changes.
    #[serde(default)]
    pub log: Log,
    /// Inserts per transaction, if each commit writes all pages it changed (SQLite); 0 if a commit writes no pages.
    #[serde(default)]
    pub commit_every: u32,
    /// Sizes to report, in rows before the first insert of the window; in ascending order.
    pub sizes: Vec<u64>,
    /// Inserts that are measured at each size.
    pub window: u64,
    /// Seed of all random draws.
    #[serde(default)]
    pub seed: u64,
    /// The scale of the simulated tree. The model ignores it.
    #[serde(default)]
    pub scale: Scale,
}

/// A B-tree index and its engine's rule for full leaves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Bytes of a leaf that entries can use.
    pub leaf_bytes: u32,
    /// Bytes of an entry in a leaf, with its item's overhead.
    pub entry_bytes: u32,
    /// Pages below an inner page that is full.
    pub fanout: u32,
    /// How a full leaf is split.
    pub split: SplitRule,
    /// Pages that each insert fills elsewhere, such as at the right edge of the table's heap. They occupy the cache;
    /// their writes are not reported.
    #[serde(default)]
    pub other_pages: f64,
}

/// How an engine splits a full leaf.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "rule", deny_unknown_fields)]
pub enum SplitRule {
    /// In the middle, but the rightmost leaf keeps a share: PostgreSQL's nbtree (`nbtsplitloc.c`). Its rule for runs of
    /// inserts within a group (`_bt_afternewitemoff`) does not apply to single-column indexes and is not modeled.
    Middle {
        /// Share that the left half of the rightmost leaf keeps; 0.9 unless the index says otherwise.
        rightmost: f64,
    },
    /// In the middle, but at the insert if it is next to the page's last insert: InnoDB's (`btr0btr.cc`, `btr0cur.cc`).
    LastInsert {
        /// Whether 1/16 of a page stays free if inserts follow each other, such as in a clustered index.
        reserve: bool,
    },
    /// Over the leaf and its two neighbours: SQLite's (`balance_nonroot` in `btree.c`).
    Neighbours {
        /// Whether the right edge gets an empty leaf. A table's tree gets one (`balance_quick`), an index doesn't.
        empty_edge: bool,
    },
}

/// In what order keys come.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "order", deny_unknown_fields)]
pub enum Keys {
    /// Anywhere, as UUIDs of version 4.
    Random,
    /// At the right edge, as sequences, ULIDs, and UUIDs of version 7.
    Ordered,
    /// A prefix that counts blocks and begins again, then random bytes.
    Blocked {
        /// Inserts that share a prefix.
        block: u64,
        /// Prefixes before the first comes again.
        count: u64,
    },
}

/// The initial contents of the tree. The cache is empty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "way", deny_unknown_fields)]
pub enum Start {
    /// No rows; it grows by the same kind of keys.
    Empty,
    /// Rows with keys of the same kind, by which the index is built afterwards.
    Bulk {
        /// Rows.
        rows: u64,
        /// Share of a leaf that is filled when the index is built.
        fill: f64,
    },
}

/// The engine's cache, and the operating system's behind it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// Pages of the engine's cache.
    pub pages: u64,
    /// What it evicts.
    pub policy: Policy,
    /// Pages of the operating system's cache; 0 for none. Pages enter it when they are read and when they are written.
    #[serde(default)]
    pub system_pages: u64,
}

/// Which page leaves a full cache.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
pub enum Policy {
    /// PostgreSQL's clock sweep (`freelist.c`): a count of uses, 5 at most, that each pass of the hand lowers.
    Clock,
    /// InnoDB's list with a midpoint (`buf0lru.cc`): a page enters at 3/8 from the end.
    Midpoint {
        /// Inserts after its first use before another use takes a page to the head (`innodb_old_blocks_time`).
        old_inserts: u64,
    },
    /// The page unused for longest.
    Lru,
    /// The clean page unused for longest; a changed page is written only if all pages are changed: SQLite's
    /// (`pcache1.c`).
    CleanFirst,
}

/// When changed pages are written.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoints {
    /// How far apart.
    pub every: Distance,
    /// Which pages are written.
    pub flush: Flush,
}

/// From one checkpoint to the next.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "in", deny_unknown_fields)]
pub enum Distance {
    /// By inserts.
    Inserts {
        /// Inserts.
        inserts: u64,
    },
    /// By the log that was written.
    Log {
        /// Bytes.
        bytes: u64,
    },
}

/// Which pages a checkpoint writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Flush {
    /// All that are changed, at once: PostgreSQL's, without the time over which it spreads them, and SQLite's.
    Sharp,
    /// Each page as soon as its oldest change is so far back: InnoDB's, whose log is a ring.
    Fuzzy,
}

/// The log of changes.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// Bytes that an insert writes into the log, without images of pages.
    pub record_bytes: f64,
    /// Bytes that the first change of a page after a checkpoint logs as well (PostgreSQL's `full_page_writes`); 0 for none.
    pub image_bytes: f64,
}

/// How much smaller the simulated tree is: rows, caches, and the distances between checkpoints, all by one factor.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "by", deny_unknown_fields)]
pub enum Scale {
    /// As large as it is.
    #[default]
    Full,
    /// By this factor.
    Factor {
        /// Factor, at least 1.
        factor: u64,
    },
    /// By the least factor that needs at most this many inserts. If the factor is too large for the caches or the
    /// blocks, a smaller one is used, with up to 4 times as many inserts.
    Inserts {
        /// Rows that are inserted, or there at the start, at most.
        most: u64,
    },
}

impl Tree {
    /// Entries that a leaf holds.
    pub fn capacity(&self) -> u32 {
        self.leaf_bytes / self.entry_bytes.max(1)
    }

    /// Entries beyond which InnoDB splits a leaf of a clustered index if inserts follow each other; otherwise the
    /// capacity.
    pub fn reserved(&self) -> u32 {
        match self.split {
            SplitRule::LastInsert { reserve: true } => {
                (self.leaf_bytes.saturating_sub(self.page_bytes / 16) / self.entry_bytes.max(1)).max(2)
            }
            _ => self.capacity(),
        }
    }
}

impl Start {
    /// Rows at the start.
    pub fn rows(self) -> u64 {
        match self {
            Self::Empty => 0,
            Self::Bulk { rows, .. } => rows,
        }
    }
}

impl Setting {
    /// Entries of a leaf that was built.
    pub fn bulk(&self) -> u32 {
        let fill = match self.start {
            Start::Empty => 1.0,
            Start::Bulk { fill, .. } => fill,
        };
        ((f64::from(self.tree.capacity()) * fill) as u32).max(1)
    }
}

/// The results at all requested sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The method.
    pub way: Way,
    /// One per size, in the same order.
    pub sizes: Vec<Figures>,
}

/// The method that computed the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "by", deny_unknown_fields)]
pub enum Way {
    /// Simulated.
    Simulation {
        /// Factor by which the simulated tree was smaller; 1 at full scale.
        factor: u64,
        /// The part of the factor by which blocks are fewer rather than smaller; 1 for keys without blocks.
        fewer_blocks: u64,
    },
    /// Computed.
    Formula,
}

/// Costs of an insert at one size: means over the window. They count leaves only unless stated otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// Rows before the first insert of the window.
    pub rows: u64,
    /// Leaves in the middle of the window, at full scale.
    pub leaves: f64,
    /// Mean share of the leaves' usable bytes that is used, in the middle of the window.
    pub fill: f64,
    /// Share of the uses of leaves that find them in the engine's cache; new leaves count as found.
    pub hit_ratio: f64,
    /// Leaves read because the engine's cache missed, per insert.
    pub reads: f64,
    /// Reads among these that the operating system's cache answered, per insert.
    pub system_hits: f64,
    /// Pages of the level above the leaves that the engine's cache had not, per insert.
    pub inner_reads: f64,
    /// Reads among these that the operating system's cache answered, per insert.
    pub inner_system_hits: f64,
    /// Changed leaves written because the cache was full, per insert.
    pub dirty_evictions: f64,
    /// Leaves written by checkpoints, per insert; where commits write pages, leaves brought from the log to the file.
    pub checkpoint_writes: f64,
    /// Leaves written by commits, per insert.
    pub commit_writes: f64,
    /// Changes of leaves that are the first since the last checkpoint, per insert: PostgreSQL's full-page images. Without
    /// sharp checkpoints 0.
    pub first_changes: f64,
    /// Bytes of log, per insert: the record, and a page per first change if that logs the page.
    pub log_bytes: f64,
    /// Leaves that overflowed, per insert.
    pub overflows: f64,
    /// New leaves, per insert.
    pub splits: f64,
}
