//! How long ago pages were used: the chance that the page of the next insert was not used within so many inserts, and how
//! many distinct pages were.

/// The pages that inserts spread over.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pattern {
    /// Each as likely.
    Even { pages: f64 },
    /// Always the newest; a new one for so many inserts.
    Edge { per_page: f64 },
}

/// A pattern, and how often an insert uses pages.
#[derive(Debug, Clone, Copy)]
pub(super) struct Locality {
    pattern: Pattern,
    /// Uses of pages per insert, with those of new leaves and of neighbours.
    often: f64,
}

impl Locality {
    /// `more`: uses per insert beyond that of the leaf itself.
    pub(super) fn new(pattern: Pattern, more: f64) -> Self {
        match pattern {
            Pattern::Even { pages } => Self {
                pattern: Pattern::Even { pages: pages.max(1.0) },
                often: 1.0 + more,
            },
            Pattern::Edge { .. } => Self { pattern, often: 1.0 },
        }
    }

    /// Chance that an insert's page was there but not used within the last `age` inserts.
    pub(super) fn unused(&self, age: f64) -> f64 {
        match self.pattern {
            Pattern::Even { pages } => (-age * self.often / pages).exp(),
            Pattern::Edge { .. } => 0.0,
        }
    }

    /// Pages whose last use becomes older than `age`, per insert.
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

    /// Inserts after which the page of an insert is used again.
    pub(super) fn recurrence(&self) -> f64 {
        match self.pattern {
            Pattern::Even { pages } => pages,
            Pattern::Edge { .. } => 1.0,
        }
    }
}
