//! What is asked: the tree, its keys, its cache, and the sizes at which figures are wanted.

use crate::error::Impossible;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One question to the simulator or to the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// The index and its engine's rules.
    pub tree: Tree,
    /// In what order keys come.
    pub keys: Keys,
    /// What the tree holds at first.
    pub start: Start,
    /// The caches.
    pub cache: Cache,
    /// When changed pages are written, other than by eviction; without, never.
    #[serde(default)]
    pub checkpoints: Option<Checkpoints>,
    /// The log of changes.
    #[serde(default)]
    pub log: Log,
    /// Inserts per transaction, where each commit writes all pages it changed (SQLite); 0 where a commit writes no pages.
    #[serde(default)]
    pub commit_every: u32,
    /// Sizes at which figures are wanted, rows before the first insert of the window; in ascending order.
    pub sizes: Vec<u64>,
    /// Inserts over which figures are taken, at each size.
    pub window: u64,
    /// Of all random draws.
    #[serde(default)]
    pub seed: u64,
    /// How much smaller the simulated tree is. The model takes no notice.
    #[serde(default)]
    pub scale: Scale,
}

/// A B-tree index and what its engine does when a leaf is full.
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
    /// Pages that each insert fills elsewhere, as at the right edge of the table's heap. They take room in the cache; their
    /// writes are in no figure.
    #[serde(default)]
    pub other_pages: f64,
}

/// What an engine does with a leaf that is full.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "rule", deny_unknown_fields)]
pub enum SplitRule {
    /// In the middle, but the rightmost leaf keeps a share: PostgreSQL's nbtree (`nbtsplitloc.c`). Its rule for runs of inserts
    /// within a group (`_bt_afternewitemoff`) leaves indexes of a single column alone, and has no part here.
    Middle {
        /// Share that the left half of the rightmost leaf keeps; 0.9 unless the index says otherwise.
        rightmost: f64,
    },
    /// In the middle, but at the insert where it is next to the page's last insert: InnoDB's (`btr0btr.cc`, `btr0cur.cc`).
    LastInsert {
        /// Whether 1/16 of a page stays free where inserts follow each other, as in a clustered index.
        reserve: bool,
    },
    /// Over the leaf and its two neighbours: SQLite's (`balance_nonroot` in `btree.c`).
    Neighbours {
        /// Whether the right edge gets an empty leaf, as a table's tree does (`balance_quick`). An index does without.
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

/// What the tree holds at first. The cache is empty.
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
    /// The clean page unused for longest; a changed page is written only where none is clean: SQLite's (`pcache1.c`).
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
    /// By the least factor that needs no more than so many inserts; by a smaller one where that is too large for the caches or
    /// the blocks, up to 4 times as many inserts.
    Inserts {
        /// Rows that are inserted, or there at the start, at most.
        most: u64,
    },
}

impl Tree {
    /// Entries that a leaf holds.
    pub(crate) fn capacity(&self) -> u32 {
        self.leaf_bytes / self.entry_bytes.max(1)
    }

    /// Entries beyond which InnoDB splits a leaf of a clustered index where inserts follow each other; otherwise the capacity.
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
    /// Entries of a leaf that was built.
    pub(crate) fn bulk(&self) -> u32 {
        let fill = match self.start {
            Start::Empty => 1.0,
            Start::Bulk { fill, .. } => fill,
        };
        ((f64::from(self.tree.capacity()) * fill) as u32).max(1)
    }

    /// Looks whether there can be such a tree.
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
