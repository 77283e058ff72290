//! The input: the tree, its keys, its caches, and the sizes to report.

use crate::error::Impossible;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Input of the simulator or the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// The index and its engine's rules.
    pub tree: Tree,
    /// Order of the keys.
    pub keys: Keys,
    /// Initial contents of the tree.
    pub start: Start,
    /// The caches.
    pub cache: Cache,
    /// When changed pages are written, other than by eviction; never if omitted.
    #[serde(default)]
    pub checkpoints: Option<Checkpoints>,
    /// The log of changes.
    #[serde(default)]
    pub log: Log,
    /// Inserts per transaction, if each commit writes all pages it changed (SQLite); 0 if a commit writes no pages.
    #[serde(default)]
    pub commit_every: u32,
    /// Sizes to report: rows before the first insert of the window, in ascending order.
    pub sizes: Vec<u64>,
    /// Number of inserts in the window at each size.
    pub window: u64,
    /// Seed of all random draws.
    #[serde(default)]
    pub seed: u64,
    /// Scale of the simulated tree. The model ignores it.
    #[serde(default)]
    pub scale: Scale,
}

/// A B-tree index, and how its engine splits full leaves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    /// Page size in bytes.
    pub page_bytes: u32,
    /// Usable bytes of a leaf.
    pub leaf_bytes: u32,
    /// Bytes of an entry in a leaf, including its overhead.
    pub entry_bytes: u32,
    /// Children of a full inner page.
    pub fanout: u32,
    /// How a full leaf is split.
    pub split: SplitRule,
    /// Pages that each insert fills elsewhere, such as at the end of the table's heap. They occupy the cache, but their
    /// writes aren't counted.
    #[serde(default)]
    pub other_pages: f64,
}

/// How an engine splits a full leaf.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "rule", deny_unknown_fields)]
pub enum SplitRule {
    /// In the middle, except that the rightmost leaf keeps a larger share: PostgreSQL's nbtree (`nbtsplitloc.c`). Its
    /// rule for runs of inserts within a group (`_bt_afternewitemoff`) doesn't apply to single-column indexes and is
    /// not modeled.
    Middle {
        /// Share of entries that the left half of the rightmost leaf keeps; 0.9 by default.
        rightmost: f64,
    },
    /// In the middle, or at the insert if it is next to the page's last insert: InnoDB (`btr0btr.cc`, `btr0cur.cc`).
    LastInsert {
        /// Whether 1/16 of a page stays free for sequential inserts, as in a clustered index.
        reserve: bool,
    },
    /// Across the leaf and its two neighbors: SQLite (`balance_nonroot` in `btree.c`).
    Neighbours {
        /// Whether an overflow at the right edge adds an empty leaf, as in a table's tree (`balance_quick`). An index
        /// doesn't do this.
        empty_edge: bool,
    },
}

/// Order of the keys.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "order", deny_unknown_fields)]
pub enum Keys {
    /// Uniformly random, such as UUIDs of version 4.
    Random,
    /// Always at the right edge, such as sequences, ULIDs, and UUIDs of version 7.
    Ordered,
    /// A prefix that counts blocks cyclically, followed by random bytes.
    Blocked {
        /// Inserts that share a prefix.
        block: u64,
        /// Number of prefixes before they repeat.
        count: u64,
    },
}

/// Initial contents of the tree. The cache is empty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "way", deny_unknown_fields)]
pub enum Start {
    /// No rows; the tree grows with the same kind of keys.
    Empty,
    /// Rows with the same kind of keys, from which the index is then built.
    Bulk {
        /// Number of rows.
        rows: u64,
        /// Fill factor of the leaves when the index is built.
        fill: f64,
    },
}

/// The engine's cache, and the operating system's cache behind it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// Pages of the engine's cache.
    pub pages: u64,
    /// The eviction policy.
    pub policy: Policy,
    /// Pages of the operating system's cache; 0 for none. Reading and writing a page adds it.
    #[serde(default)]
    pub system_pages: u64,
}

/// Which page a full cache evicts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
pub enum Policy {
    /// PostgreSQL's clock sweep (`freelist.c`): a usage count of up to 5, which each pass of the hand decrements.
    Clock,
    /// InnoDB's midpoint insertion list (`buf0lru.cc`): a page is inserted at 3/8 from the tail.
    Midpoint {
        /// Inserts after its first use before another use moves a page to the head (`innodb_old_blocks_time`).
        old_inserts: u64,
    },
    /// The least recently used page.
    Lru,
    /// The least recently used clean page; a changed page is written only if there is no clean one: SQLite
    /// (`pcache1.c`).
    CleanFirst,
}

/// When changed pages are written.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoints {
    /// Distance between checkpoints.
    pub every: Distance,
    /// Which pages are written.
    pub flush: Flush,
}

/// Distance from one checkpoint to the next.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "in", deny_unknown_fields)]
pub enum Distance {
    /// In inserts.
    Inserts {
        /// Inserts.
        inserts: u64,
    },
    /// In bytes of log.
    Log {
        /// Bytes.
        bytes: u64,
    },
}

/// Which pages a checkpoint writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Flush {
    /// All changed pages at once: SQLite, and PostgreSQL without spreading the writes over time.
    Sharp,
    /// Each page once its oldest change is that far back: InnoDB, whose log is circular.
    Fuzzy,
}

/// The log of changes.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// Bytes of log per insert, without page images.
    pub record_bytes: f64,
    /// Bytes that the first change of a page after a checkpoint adds to the log (PostgreSQL's `full_page_writes`); 0
    /// for none.
    pub image_bytes: f64,
}

/// Scale of the simulated tree: rows, caches and checkpoint distances are all divided by one factor.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "by", deny_unknown_fields)]
pub enum Scale {
    /// Full scale.
    #[default]
    Full,
    /// This factor.
    Factor {
        /// The factor, at least 1.
        factor: u64,
    },
    /// The smallest factor with at most this number of inserts. If that factor is too large for the caches or the
    /// blocks, a smaller one with up to 4 times that number.
    Inserts {
        /// Maximum number of rows inserted, or present at the start.
        most: u64,
    },
}

impl Tree {
    /// Entries that fit into a leaf.
    pub(crate) fn capacity(&self) -> u32 {
        self.leaf_bytes / self.entry_bytes.max(1)
    }

    /// Entries above which InnoDB splits a leaf of a clustered index under sequential inserts; the capacity for other
    /// rules.
    pub(crate) fn reserved(&self) -> u32 {
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
    pub(crate) fn rows(self) -> u64 {
        match self {
            Self::Empty => 0,
            Self::Bulk { rows, .. } => rows,
        }
    }
}

impl Setting {
    /// Entries per leaf after building the index.
    pub(crate) fn bulk(&self) -> u32 {
        let fill = match self.start {
            Start::Empty => 1.0,
            Start::Bulk { fill, .. } => fill,
        };
        ((f64::from(self.tree.capacity()) * fill) as u32).max(1)
    }

    /// Checks whether such a tree is possible.
    pub(crate) fn check(&self) -> Result<(), Impossible> {
        let tree = &self.tree;
        let entries = tree.capacity();
        if tree.entry_bytes == 0 || !(4..=60_000).contains(&entries) {
            return Err(Impossible::Leaf {
                leaf_bytes: tree.leaf_bytes,
                entry_bytes: tree.entry_bytes,
                entries,
            });
        }
        let share = "above 0.1 and at most 1";
        let is_share = |value: f64| value > 0.1 && value <= 1.0;
        let range = |field, value, fits: bool, range| {
            if fits {
                Ok(())
            } else {
                Err(Impossible::Range { field, value, range })
            }
        };
        range(
            "leaf_bytes",
            f64::from(tree.leaf_bytes),
            tree.leaf_bytes <= tree.page_bytes,
            "at most page_bytes",
        )?;
        if let Start::Bulk { fill, .. } = self.start {
            range("fill", fill, is_share(fill), share)?;
        }
        if let SplitRule::Middle { rightmost } = tree.split {
            range("rightmost", rightmost, is_share(rightmost), share)?;
        }
        range("fanout", f64::from(tree.fanout), tree.fanout >= 4, "at least 4")?;
        let other = tree.other_pages;
        range(
            "other_pages",
            other,
            (0.0..=10.0).contains(&other),
            "0 to 10 pages per insert",
        )?;
        range("pages", self.cache.pages as f64, self.cache.pages >= 16, "at least 16")?;
        range("window", self.window as f64, self.window >= 1, "at least 1 insert")?;
        if let Keys::Blocked { block, count } = self.keys {
            range("block", block as f64, block >= 1, "at least 1 insert")?;
            range("count", count as f64, count >= 1, "at least 1 prefix")?;
        }
        let bytes = self.log.record_bytes;
        range("record_bytes", bytes, bytes >= 0.0 && bytes.is_finite(), "at least 0")?;
        match self.checkpoints.map(|checkpoints| checkpoints.every) {
            Some(Distance::Inserts { inserts }) => range("inserts", inserts as f64, inserts >= 1, "at least 1")?,
            Some(Distance::Log { bytes: distance }) => {
                range("bytes", distance as f64, distance as f64 >= bytes, "at least a record")?;
                range(
                    "record_bytes",
                    bytes,
                    bytes > 0.0,
                    "above 0, since checkpoints count the log",
                )?;
            }
            None => {}
        }
        let mut before = self.start.rows();
        for &size in &self.sizes {
            if size < before {
                return Err(Impossible::Order { size, before });
            }
            before = size + self.window;
        }
        Ok(())
    }
}
