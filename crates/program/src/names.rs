//! Resolves the names of variables and key spaces to slots.

use crate::key_space::KeySpace;
use std::sync::Arc;

/// The variables and counters used by all transactions, in order of first use.
#[derive(Debug, Default)]
pub struct Names {
    variables: Vec<String>,
    /// The names of counters that several generators use.
    counters: Vec<Option<String>>,
    spaces: Vec<(String, Arc<KeySpace>)>,
    /// Keys that earlier trials issued.
    first_key: u64,
}

impl Names {
    /// No names. `first_key`: keys of each key space that earlier trials issued.
    pub fn new(first_key: u64) -> Self {
        Self {
            first_key,
            ..Self::default()
        }
    }

    /// The slot of a key space, which is added at its first use, and the space.
    pub fn key_space(&mut self, name: &str) -> (usize, Arc<KeySpace>) {
        let known = self.spaces.iter().position(|(other, _)| other == name);
        let slot = known.unwrap_or_else(|| {
            let space = Arc::new(KeySpace::starting_at(self.first_key));
            self.spaces.push((name.to_owned(), space));
            self.spaces.len() - 1
        });
        (slot, Arc::clone(&self.spaces[slot].1))
    }

    /// The key spaces, by slot.
    pub fn key_spaces(&self) -> Vec<Arc<KeySpace>> {
        self.spaces.iter().map(|(_, space)| Arc::clone(space)).collect()
    }

    /// The slot of a variable, which is added at its first use.
    pub fn variable(&mut self, name: &str) -> usize {
        self.find(name).unwrap_or_else(|| {
            self.variables.push(name.to_owned());
            self.variables.len() - 1
        })
    }

    /// The slot of a known variable.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.variables.iter().position(|known| known == name)
    }

    /// The slot of a counter. A named one is added at its first use, one without a name at each.
    pub fn counter(&mut self, name: Option<&str>) -> usize {
        let known = name.and_then(|name| self.counters.iter().position(|other| other.as_deref() == Some(name)));
        known.unwrap_or_else(|| {
            self.counters.push(name.map(str::to_owned));
            self.counters.len() - 1
        })
    }

    /// Number of variables.
    pub fn variables(&self) -> usize {
        self.variables.len()
    }

    /// Number of counters.
    pub fn counters(&self) -> usize {
        self.counters.len()
    }
}
