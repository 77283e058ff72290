//! Recency of page uses: the probability that the next insert's page was not used within the last inserts, and the
//! number of distinct pages used.

/// How inserts are distributed over pages.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pattern {
    /// Uniformly.
    Even { pages: f64 },
    /// Always the newest page; a new one after `per_page` inserts.
    Edge { per_page: f64 },
}

/// A distribution, and the number of page uses per insert.
#[derive(Debug, Clone, Copy)]
pub(super) struct Locality {
    pattern: Pattern,
    /// Page uses per insert, including new leaves and neighbors.
    often: f64,
}

impl Locality {
    /// `more`: uses per insert in addition to the leaf itself.
    pub(super) fn new(pattern: Pattern, more: f64) -> Self {
        match pattern {
            Pattern::Even { pages } => Self {
                pattern: Pattern::Even { pages: pages.max(1.0) },
                often: 1.0 + more,
            },
            Pattern::Edge { .. } => Self { pattern, often: 1.0 },
        }
    }

    /// Probability that an insert's page exists but was not used within the last `age` inserts.
    pub(super) fn unused(&self, age: f64) -> f64 {
        match self.pattern {
            Pattern::Even { pages } => (-age * self.often / pages).exp(),
            Pattern::Edge { .. } => 0.0,
        }
    }

    /// Pages per insert whose last use becomes older than `age`.
    pub(super) fn ageing(&self, age: f64) -> f64 {
        match self.pattern {
            Pattern::Even { .. } => self.unused(age) * self.often,
            Pattern::Edge { per_page } => per_page.recip(),
        }
    }

    /// Distinct pages used within `age` inserts.
    pub(super) fn distinct(&self, age: f64) -> f64 {
        match self.pattern {
            Pattern::Even { pages } => -pages * (-age * self.often / pages).exp_m1(),
            Pattern::Edge { per_page } => age / per_page + 1.0,
        }
    }

    /// Mean number of inserts until a page is used again.
    pub(super) fn recurrence(&self) -> f64 {
        match self.pattern {
            Pattern::Even { pages } => pages,
            Pattern::Edge { .. } => 1.0,
        }
    }
}
