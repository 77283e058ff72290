//! A connection's access to the queue, to shared statements, and to the time.

use crate::queue::Queue;
use dbdyno_reports::{Execution, Shared, Texts};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Longer statements are recorded without their text, and longer parameters without their values.
pub const LONGEST: usize = 1 << 18;

/// Requests of a connection that may wait for an answer. A connection with more isn't recorded.
pub const MOST_REQUESTS: usize = 100_000;

/// Takes what one connection did.
#[derive(Debug, Clone)]
pub struct Reporter {
    queue: Arc<Queue>,
    lane: usize,
    texts: Rc<RefCell<Texts>>,
    /// The number of the connection.
    pub session: u64,
}

impl Reporter {
    /// The reporter of a connection, of the thread `lane`.
    pub fn new(queue: Arc<Queue>, lane: usize, texts: Rc<RefCell<Texts>>, session: u64) -> Self {
        Self {
            queue,
            lane,
            texts,
            session,
        }
    }

    /// Nanoseconds since 1970.
    pub fn now(&self) -> u64 {
        self.queue.now()
    }

    /// Shares a statement with other connections. `types`: the declared types of its parameters.
    pub fn share(&self, text: &[u8], types: &[u32]) -> Arc<Shared> {
        self.texts.borrow_mut().share(text, types, Vec::new)
    }

    /// Reports an execution.
    pub fn add(&self, execution: Execution) {
        self.queue.add(self.lane, execution);
    }

    /// Counts an execution that can't be recorded.
    pub fn drop_one(&self) {
        self.queue.drop_one(self.lane);
    }

    /// Reports a problem.
    pub fn problem(&self, problem: String) {
        self.queue.report(self.lane, problem);
    }
}
