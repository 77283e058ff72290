//! Transactions as flat programs: the tree of steps becomes a list with jumps, and names become slots.

mod compiler;
mod op;

pub use op::{Execute, Op};

use crate::expression::{Compiled, Context, Scalar};
use crate::key_space::{KeySpace, Taken};
use crate::names::Names;
use crate::random::{Stream, client_stream};
use crate::row_buffer::RowBuffer;
use crate::sampler::{Position, Sampler, Scope, choose, thresholds};
use crate::value::{Owned, Values};
use compiler::Compiler;
use dbdyno_protocol::plan::PlanError;
use dbdyno_protocol::plan::limits::MOST_REPETITIONS;
use dbdyno_protocol::plan::transaction::{Compare, Transaction};
use std::sync::Arc;

/// A compiled transaction.
#[derive(Debug)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Its operations.
    pub ops: Box<[Op]>,
}

/// All transactions of a trial, and the probabilities to choose them.
#[derive(Debug)]
pub struct Programs {
    programs: Box<[Program]>,
    /// The probabilities of the transactions by role. The first role is that of clients without a transaction of their
    /// own.
    roles: Box<[Box<[u64]>]>,
    /// Clients of each further role.
    clients: Box<[u32]>,
    variables: usize,
    counters: usize,
    loops: usize,
    buffers: usize,
    spaces: Box<[Arc<KeySpace>]>,
}

impl Programs {
    /// Compiles the transactions of a trial. The plan has `statements` statements.
    pub fn compile(transactions: &[Transaction], statements: usize) -> Result<Self, PlanError> {
        Self::continuing(transactions, statements, 0)
    }

    /// Compiles the transactions of a trial that continues earlier ones. `first_use`: uses of each counter, over all
    /// clients, before this trial.
    pub fn continuing(transactions: &[Transaction], statements: usize, first_use: u64) -> Result<Self, PlanError> {
        let at = "task.transactions";
        if transactions.is_empty() {
            return Err(PlanError::invalid(at, "at least one transaction is required"));
        }
        let mut compiler = Compiler {
            statements,
            names: Names::new(first_use),
            loops: 0,
            once: Vec::new(),
            ops: Vec::new(),
            buffers: 0,
        };
        let mut programs = Vec::with_capacity(transactions.len());
        for (i, transaction) in transactions.iter().enumerate() {
            compiler.steps(&transaction.steps, &format!("{at}[{i}].steps"))?;
            let ops = std::mem::take(&mut compiler.ops).into_boxed_slice();
            programs.push(Program {
                name: transaction.name.clone(),
                ops,
            });
        }
        Ok(Self {
            programs: programs.into_boxed_slice(),
            roles: roles(transactions, at)?,
            clients: transactions
                .iter()
                .filter_map(|transaction| transaction.clients)
                .collect(),
            variables: compiler.names.variables(),
            counters: compiler.names.counters(),
            loops: compiler.loops,
            buffers: compiler.buffers,
            spaces: compiler.names.key_spaces().into_boxed_slice(),
        })
    }

    /// Whether clients take keys from spaces that they share, so that the ends of their transactions matter.
    #[inline(always)]
    pub fn shares_keys(&self) -> bool {
        !self.spaces.is_empty()
    }

    /// The transactions, in the plan's order.
    pub fn all(&self) -> &[Program] {
        &self.programs
    }

    /// Whether any transaction has think time.
    pub fn think(&self) -> bool {
        let mut ops = self.programs.iter().flat_map(|program| &program.ops);
        ops.any(|op| matches!(op, Op::Think { .. }))
    }

    /// Chooses the next transaction by weight and returns its index.
    #[inline]
    pub fn choose(&self, state: &mut ClientState) -> usize {
        choose(&self.roles[state.role], &mut state.stream)
    }

    /// The initial state of a client. `seed`: for its random stream. `data_seed`: for the tables' values. `first_use`:
    /// uses of each counter, over all clients, before this trial.
    pub fn state(&self, seed: u64, data_seed: u64, client: u32, clients: u32, first_use: u64) -> ClientState {
        ClientState {
            seed,
            data_seed,
            stream: client_stream(seed, client),
            variables: vec![Owned::Null; self.variables],
            counters: vec![first_use.div_ceil(u64::from(clients.max(1))); self.counters],
            loops: vec![0; self.loops],
            client: (client, clients),
            role: self.role(client, clients),
            rows: (0..self.buffers).map(|_| RowBuffer::default()).collect(),
            left: Values::default(),
            right: Values::default(),
            taken: Taken::default(),
        }
    }

    /// Keys that clients have taken from a space that they share, before this trial and in it.
    pub fn keys_issued(&self) -> u64 {
        self.spaces.iter().map(|space| space.issued()).max().unwrap_or(0)
    }

    /// The role of a client: the last clients by number have roles of their own.
    fn role(&self, client: u32, clients: u32) -> usize {
        let mut from_last = clients.saturating_sub(client + 1);
        for (number, of_role) in self.clients.iter().enumerate().rev() {
            if from_last < *of_role {
                return number + 1;
            }
            from_last -= of_role;
        }
        0
    }

    /// Records that a client's transaction has ended, and with it the keys that it has taken.
    pub fn end_transaction(&self, state: &mut ClientState) {
        state.taken.end(&self.spaces);
    }
}

/// The probabilities of the transactions by role.
fn roles(transactions: &[Transaction], path: &str) -> Result<Box<[Box<[u64]>]>, PlanError> {
    let of = |weight: &dyn Fn(&Transaction) -> f64| {
        let weights: Vec<f64> = transactions.iter().map(weight).collect();
        thresholds(&weights, path)
    };
    let mut roles = Vec::new();
    if transactions.iter().all(|transaction| transaction.clients.is_some()) {
        roles.push(of(&|_| 1.0)?);
    } else {
        roles.push(of(&|each| if each.clients.is_none() { each.weight } else { 0.0 })?);
    }
    for own in transactions.iter().filter(|transaction| transaction.clients.is_some()) {
        roles.push(of(&|each| f64::from(u8::from(std::ptr::eq(each, own))))?);
    }
    Ok(roles.into_boxed_slice())
}

/// The state of one client: its random stream, variables and counters.
#[derive(Debug)]
pub struct ClientState {
    /// The seed of the random streams.
    seed: u64,
    /// The seed that the tables were filled with.
    data_seed: u64,
    /// The client's random stream.
    pub stream: Stream,
    /// The variables of the transactions.
    pub variables: Vec<Owned>,
    /// Uses of each serial generator.
    counters: Vec<u64>,
    /// Remaining iterations of each loop, and how often each step that runs once has run.
    loops: Vec<u64>,
    /// The client's number and the number of clients.
    client: (u32, u32),
    role: usize,
    /// The rows of results that steps run for.
    pub rows: Vec<RowBuffer>,
    left: Values,
    right: Values,
    /// The keys of the current transaction.
    taken: Taken,
}

impl ClientState {
    /// Generates a statement's parameters.
    #[inline(always)]
    pub fn make_all(&mut self, samplers: &[Sampler], out: &mut Values) {
        out.clear();
        for sampler in samplers {
            // The most common generator only needs the stream.
            match sampler.uniform(&mut self.stream) {
                Some(value) => out.push_integer(value),
                None => self.make(sampler, out),
            }
        }
    }

    #[inline(never)]
    fn make(&mut self, sampler: &Sampler, out: &mut Values) {
        sampler.sample(&mut self.scope(), out);
    }

    /// The inputs of generators.
    #[inline(always)]
    fn scope(&mut self) -> Scope<'_> {
        Scope {
            seed: self.data_seed,
            stream: &mut self.stream,
            row: Position::default(),
            variables: &self.variables,
            counters: &mut self.counters,
            client: self.client,
            taken: Some(&mut self.taken),
            problem: None,
        }
    }

    /// Runs an operation that only affects the client. Returns the index of the operation to continue with; by default,
    /// `next`.
    pub fn step(&mut self, op: &Op, next: usize) -> usize {
        match op {
            Op::Set { slot, value } => self.set(*slot, value),
            Op::JumpUnlessFirst { slot, to } => {
                if self.loops[*slot] > 0 {
                    return *to;
                }
                self.loops[*slot] = 1;
            }
            Op::JumpUnless {
                left,
                compare,
                right,
                to,
            } => {
                if !self.is_true(left, *compare, right.as_ref()) {
                    return *to;
                }
            }
            Op::JumpUnlessChance { below, to } => {
                if !self.chance(*below) {
                    return *to;
                }
            }
            Op::Jump { to } => return *to,
            Op::NextRow { buffer, into, to } => {
                if !self.rows[*buffer].next(into, &mut self.variables) {
                    return *to;
                }
            }
            Op::Repeat { slot, times } => self.loops[*slot] = *times,
            Op::RepeatDrawn { slot, times, to } => {
                let drawn = self.integer(times);
                if drawn <= 0 {
                    return *to;
                }
                self.loops[*slot] = (drawn as u64).min(MOST_REPETITIONS);
            }
            Op::RepeatEnd { slot, to } => {
                self.loops[*slot] -= 1;
                if self.loops[*slot] > 0 {
                    return *to;
                }
            }
            Op::Execute(_) | Op::Evaluate { .. } | Op::Begin(_) | Op::Commit | Op::Rollback | Op::Think { .. } => {}
        }
        next
    }

    /// Sets a variable to the value of an expression. The error is one line.
    #[inline(never)]
    pub fn evaluate(&mut self, slot: usize, expression: &Compiled) -> Result<(), String> {
        let value = expression.evaluate(&mut Context {
            variables: &self.variables,
            stream: &mut self.stream,
            client: self.client.0,
            seed: self.seed,
            data_seed: self.data_seed,
            row: Position::default(),
        })?;
        self.variables[slot] = match value {
            Scalar::Null => Owned::Null,
            Scalar::Boolean(v) => Owned::Boolean(v),
            Scalar::Integer(v) => Owned::Integer(v),
            Scalar::Double(v) => Owned::Real(v),
        };
        Ok(())
    }

    /// Sets a variable.
    fn set(&mut self, slot: usize, sampler: &Sampler) {
        let mut out = std::mem::take(&mut self.left);
        self.make_all(std::slice::from_ref(sampler), &mut out);
        if let Some(value) = out.get(0) {
            self.variables[slot].assign(value);
        }
        self.left = out;
    }

    /// Whether a comparison is true.
    fn is_true(&mut self, left: &Sampler, compare: Compare, right: Option<&Sampler>) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let (mut a, mut b) = (std::mem::take(&mut self.left), std::mem::take(&mut self.right));
        self.make_all(std::slice::from_ref(left), &mut a);
        self.make_all(right.map_or(&[], std::slice::from_ref), &mut b);
        let is_null = matches!(a.get(0), None | Some(crate::value::Value::Null));
        let order = a.get(0).zip(b.get(0)).and_then(|(a, b)| a.compare(&b));
        let is_true = match compare {
            Compare::IsNull => is_null,
            Compare::IsNotNull => !is_null,
            Compare::Eq => order == Some(Equal),
            Compare::Ne => matches!(order, Some(Less | Greater)),
            Compare::Lt => order == Some(Less),
            Compare::Le => matches!(order, Some(Less | Equal)),
            Compare::Gt => order == Some(Greater),
            Compare::Ge => matches!(order, Some(Greater | Equal)),
        };
        (self.left, self.right) = (a, b);
        is_true
    }

    /// Whether a random number is below a bound.
    fn chance(&mut self, below: u64) -> bool {
        use rand::Rng as _;
        self.stream.next_u64() < below
    }

    /// An upper bound on the uses of each counter over all clients; later values continue from it.
    pub fn next_use(&self) -> u64 {
        self.counters
            .iter()
            .max()
            .map_or(0, |used| used * u64::from(self.client.1))
    }

    /// Saves the random stream and counters, in case the next transaction must be retried.
    pub fn save(&self) -> SavedState {
        SavedState {
            stream: self.stream.clone(),
            counters: self.counters.clone(),
        }
    }

    /// Records that the client's transaction was rolled back, so that others can insert the keys that it has taken.
    #[inline]
    pub fn roll_back(&mut self) {
        self.taken.roll_back();
    }

    /// Restores a saved state.
    pub fn restore(&mut self, saved: &SavedState) {
        self.stream.clone_from(&saved.stream);
        self.counters.clone_from(&saved.counters);
        self.taken.retry();
    }

    /// Generates an integer, such as a think time.
    pub fn integer(&mut self, sampler: &Sampler) -> i64 {
        sampler.integer(&mut self.scope())
    }
}

/// The random stream and counters before a transaction.
#[derive(Debug, Clone)]
pub struct SavedState {
    stream: Stream,
    counters: Vec<u64>,
}

#[cfg(test)]
mod tests;
