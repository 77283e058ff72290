//! Resolves variable names to slots.

/// The variables and counters used by all transactions, in order of first use.
#[derive(Debug, Default)]
pub struct Names {
    variables: Vec<String>,
    counters: usize,
}

impl Names {
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

    /// Adds a counter and returns its slot.
    pub fn new_counter(&mut self) -> usize {
        self.counters += 1;
        self.counters - 1
    }

    /// Number of variables.
    pub fn variables(&self) -> usize {
        self.variables.len()
    }

    /// Number of counters.
    pub fn counters(&self) -> usize {
        self.counters
    }
}
