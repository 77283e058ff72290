//! Transactions as flat programs: the steps' tree turned into a list with jumps, names into numbers.

mod compiler;
mod op;

pub use op::{Execute, Op};

use crate::expression::{Compiled, Context, Scalar};
use crate::names::Names;
use crate::random::{Stream, client_stream};
use crate::sampler::{Sampler, Scope, choose, thresholds};
use crate::value::{Owned, Values};
use compiler::Compiler;
use dbdyno_plan::PlanError;
use dbdyno_plan::transaction::{Compare, Transaction};

/// One transaction, ready to run.
#[derive(Debug)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// What it does.
    pub ops: Box<[Op]>,
}

/// All transactions of a trial, and how one is chosen.
#[derive(Debug)]
pub struct Programs {
    programs: Box<[Program]>,
    thresholds: Box<[u64]>,
    variables: usize,
    counters: usize,
    loops: usize,
}

impl Programs {
    /// Compiles the transactions of a trial, whose plan has `statements` statements.
    pub fn compile(transactions: &[Transaction], statements: usize) -> Result<Self, PlanError> {
        let at = "task.transactions";
        if transactions.is_empty() {
            return Err(PlanError::invalid(at, "there must be at least one transaction"));
        }
        let weights: Vec<f64> = transactions.iter().map(|transaction| transaction.weight).collect();
        let mut compiler = Compiler {
            statements,
            names: Names::default(),
            loops: 0,
            once: Vec::new(),
            ops: Vec::new(),
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
            thresholds: thresholds(&weights, at)?,
            variables: compiler.names.variables(),
            counters: compiler.names.counters(),
            loops: compiler.loops,
        })
    }

    /// The transactions, in the plan's order.
    pub fn all(&self) -> &[Program] {
        &self.programs
    }

    /// Whether a transaction waits of its own accord.
    pub fn think(&self) -> bool {
        let mut ops = self.programs.iter().flat_map(|program| &program.ops);
        ops.any(|op| matches!(op, Op::Think { .. }))
    }

    /// Chooses the next transaction by weight; its index.
    #[inline]
    pub fn choose(&self, state: &mut ClientState) -> usize {
        choose(&self.thresholds, &mut state.stream)
    }

    /// What a client needs to run these programs. `seed`: of its random stream; `data_seed`: of the tables' values;
    /// `first_use`: uses of each counter, over all clients, that its values follow.
    pub fn state(&self, seed: u64, data_seed: u64, client: u32, clients: u32, first_use: u64) -> ClientState {
        ClientState {
            seed,
            data_seed,
            stream: client_stream(seed, client),
            variables: vec![Owned::Null; self.variables],
            counters: vec![first_use.div_ceil(u64::from(clients.max(1))); self.counters],
            loops: vec![0; self.loops],
            client: (client, clients),
            left: Values::default(),
            right: Values::default(),
        }
    }
}

/// The state of one client: its random stream, variables and counters.
#[derive(Debug)]
pub struct ClientState {
    /// The seed of the random streams.
    seed: u64,
    /// The seed with which the tables were filled.
    data_seed: u64,
    /// The client's random stream.
    pub stream: Stream,
    /// The variables of the transactions.
    pub variables: Vec<Owned>,
    /// How often each serial generator was used.
    counters: Vec<u64>,
    /// How often each loop still runs, and how often what is done once has been done.
    loops: Vec<u64>,
    /// The client's number, and the number of clients.
    client: (u32, u32),
    left: Values,
    right: Values,
}

impl ClientState {
    /// Makes a statement's parameters.
    #[inline(always)]
    pub fn make_all(&mut self, samplers: &[Sampler], out: &mut Values) {
        out.clear();
        for sampler in samplers {
            // The commonest generator needs no more than the stream.
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

    /// What generators draw from.
    #[inline(always)]
    fn scope(&mut self) -> Scope<'_> {
        Scope {
            seed: self.data_seed,
            stream: &mut self.stream,
            row: 0,
            variables: &self.variables,
            counters: &mut self.counters,
            client: self.client,
        }
    }

    /// Carries out an operation that concerns only the client; tells where to go on. `next` follows it.
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
                if !self.holds(left, *compare, right.as_ref()) {
                    return *to;
                }
            }
            Op::JumpUnlessChance { below, to } => {
                if !self.chance(*below) {
                    return *to;
                }
            }
            Op::Jump { to } => return *to,
            Op::Repeat { slot, times } => self.loops[*slot] = *times,
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

    /// Sets a variable to what an expression gives. The error is one line that says why it gives nothing.
    #[inline(never)]
    pub fn evaluate(&mut self, slot: usize, expression: &Compiled) -> Result<(), String> {
        let value = expression.evaluate(&mut Context {
            variables: &self.variables,
            stream: &mut self.stream,
            client: self.client.0,
            seed: self.seed,
            data_seed: self.data_seed,
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

    /// Whether a comparison holds.
    fn holds(&mut self, left: &Sampler, compare: Compare, right: Option<&Sampler>) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let (mut a, mut b) = (std::mem::take(&mut self.left), std::mem::take(&mut self.right));
        self.make_all(std::slice::from_ref(left), &mut a);
        self.make_all(right.map_or(&[], std::slice::from_ref), &mut b);
        let is_null = matches!(a.get(0), None | Some(crate::value::Value::Null));
        let order = a.get(0).zip(b.get(0)).and_then(|(a, b)| a.compare(&b));
        let holds = match compare {
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
        holds
    }

    /// Whether a random number is below a bound.
    fn chance(&mut self, below: u64) -> bool {
        use rand::Rng as _;
        self.stream.next_u64() < below
    }

    /// Uses of each counter, over all clients, that none of this client's is above: where later values go on.
    pub fn next_use(&self) -> u64 {
        self.counters
            .iter()
            .max()
            .map_or(0, |used| used * u64::from(self.client.1))
    }

    /// What the next transaction will draw from, to be restored if it must be run again.
    pub fn save(&self) -> Saved {
        Saved {
            stream: self.stream.clone(),
            counters: self.counters.clone(),
        }
    }

    /// Goes back to what was saved.
    pub fn restore(&mut self, saved: &Saved) {
        self.stream.clone_from(&saved.stream);
        self.counters.clone_from(&saved.counters);
    }

    /// Makes an integer, such as a time to wait.
    pub fn integer(&mut self, sampler: &Sampler) -> i64 {
        sampler.integer(&mut self.scope())
    }
}

/// What a transaction draws from, as it was before it.
#[derive(Debug, Clone)]
pub struct Saved {
    stream: Stream,
    counters: Vec<u64>,
}

#[cfg(test)]
mod tests;
