//! Contended mutexes of an embedded engine.

use schemars::JsonSchema;
use serde::Serialize;

/// Mutexes that were not free when they were wanted.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Contention {
    /// How often.
    pub contended: u64,
    /// Seconds waited, all threads together.
    pub wait_s: f64,
    /// Where, most time first. The times are of all waits; the stacks of a sample of them, scaled to all.
    pub sites: Vec<ContentionSite>,
}

impl Contention {
    /// Makes figures of a part of the time, which is one in `by`, into figures of the whole, of which so many seconds can
    /// have been waited.
    pub fn scale(&mut self, by: f64, wait_s: f64) {
        let count = |n: u64| (n as f64 * by).round() as u64;
        let longer = if self.wait_s > 0.0 { wait_s / self.wait_s } else { 0.0 };
        self.contended = count(self.contended);
        self.wait_s = wait_s;
        for site in &mut self.sites {
            site.waits = count(site.waits);
            site.wait_s *= longer;
        }
    }
}

/// One place in the code that waited for a mutex.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct ContentionSite {
    /// The function that wanted (and, once it had it, held) the mutex.
    pub function: String,
    /// What kind of mutex it is.
    pub mutex: String,
    /// How often it waited (scaled from the sample).
    pub waits: u64,
    /// Seconds it waited (scaled from the sample).
    pub wait_s: f64,
    /// The functions that led there, innermost first.
    pub stack: Vec<String>,
}
