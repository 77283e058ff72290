//! Names of variables turned into numbers.

/// The variables and counters that the steps of all transactions use, in order of first mention.
#[derive(Debug, Default)]
pub struct Names {
    variables: Vec<String>,
    counters: usize,
}

impl Names {
    /// The slot of a variable; a new one at its first mention.
    pub fn variable(&mut self, name: &str) -> usize {
        self.find(name).unwrap_or_else(|| {
            self.variables.push(name.to_owned());
            self.variables.len() - 1
        })
    }

    /// The slot of a variable that has been mentioned.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.variables.iter().position(|known| known == name)
    }

    /// The slot of one more counter.
    pub fn new_counter(&mut self) -> usize {
        self.counters += 1;
        self.counters - 1
    }

    /// How many variables there are.
    pub fn variables(&self) -> usize {
        self.variables.len()
    }

    /// How many counters there are.
    pub fn counters(&self) -> usize {
        self.counters
    }
}
