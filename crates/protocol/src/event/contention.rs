//! Contended mutexes of an embedded engine.

use schemars::JsonSchema;
use serde::Serialize;

/// Waits for contended mutexes.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Contention {
    /// How often.
    pub contended: u64,
    /// Seconds waited, all threads together.
    pub wait_s: f64,
    /// The places of the waits, most time first. Their times are scaled from a sample.
    pub sites: Vec<ContentionSite>,
}

impl Contention {
    /// Scales counts from one part in `by` of the time to the whole time. `wait_s`: the seconds of waiting in the whole
    /// time.
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
    /// The kind of mutex.
    pub mutex: String,
    /// How often it waited (scaled from the sample).
    pub waits: u64,
    /// Seconds it waited (scaled from the sample).
    pub wait_s: f64,
    /// The functions that led there, innermost first.
    pub stack: Vec<String>,
}
