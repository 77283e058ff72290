//! Compiles steps into operations.

use super::op::{Execute, Op};
use crate::expression::Compiled;
use crate::names::Names;
use crate::sampler::{Place, Sampler, probability};
use dbdyno_protocol::plan::PlanError;
use dbdyno_protocol::plan::generator::Generator;
use dbdyno_protocol::plan::limits::{MOST_REPETITIONS, within};
use dbdyno_protocol::plan::transaction::{Compare, Step, Times};

/// The state of a compilation.
pub(super) struct Compiler {
    /// Number of statements in the plan.
    pub(super) statements: usize,
    pub(super) names: Names,
    /// Number of loops and of steps that run once.
    pub(super) loops: usize,
    /// Variables that are set once, each with the slot that records whether it has been set.
    pub(super) once: Vec<(usize, usize)>,
    pub(super) ops: Vec<Op>,
    /// Number of buffers for rows.
    pub(super) buffers: usize,
}

impl Compiler {
    /// Appends the operations of steps at `path` in the plan.
    pub(super) fn steps(&mut self, steps: &[Step], path: &str) -> Result<(), PlanError> {
        for (i, step) in steps.iter().enumerate() {
            self.step(step, &format!("{path}[{i}]"))?;
        }
        Ok(())
    }

    fn step(&mut self, step: &Step, path: &str) -> Result<(), PlanError> {
        match step {
            Step::Execute {
                statement,
                params,
                into,
                each,
            } => {
                if *statement >= self.statements {
                    let problem = format!("statement {statement} does not exist; the plan has {}", self.statements);
                    return Err(PlanError::invalid(path, problem));
                }
                let params = params
                    .iter()
                    .enumerate()
                    .map(|(i, param)| self.sampler(param, &format!("{path}.params[{i}]")))
                    .collect::<Result<_, _>>()?;
                let into: Box<[usize]> = into.iter().map(|name| self.names.variable(name)).collect();
                let rows = (!each.is_empty()).then_some(self.buffers);
                self.ops.push(Op::Execute(Execute {
                    statement: *statement,
                    params,
                    into: into.clone(),
                    rows,
                }));
                if let Some(buffer) = rows {
                    if into.is_empty() {
                        return Err(PlanError::invalid(path, "`each` needs variables in `into`"));
                    }
                    self.buffers += 1;
                    let next = self.ops.len();
                    self.ops.push(Op::NextRow { buffer, into, to: 0 });
                    self.steps(each, &format!("{path}.each"))?;
                    self.ops.push(Op::Jump { to: next });
                    self.patch_jump(next);
                }
            }
            Step::Begin { mode } => self.ops.push(Op::Begin(*mode)),
            Step::Commit => self.ops.push(Op::Commit),
            Step::Rollback => self.ops.push(Op::Rollback),
            Step::Set { variable, value, once } => {
                let path = format!("{path}.value");
                let op = match value {
                    Generator::Expression { text, tree, .. } => {
                        let expression = Compiled::new(tree, text, &path, &self.names)?;
                        let slot = self.names.variable(variable);
                        Op::Evaluate { slot, expression }
                    }
                    _ => {
                        let value = self.sampler(value, &path)?;
                        let slot = self.names.variable(variable);
                        Op::Set { slot, value }
                    }
                };
                if *once {
                    let slot = self.once_slot(variable);
                    self.ops.push(Op::JumpUnlessFirst {
                        slot,
                        to: self.ops.len() + 2,
                    });
                }
                self.ops.push(op);
            }
            Step::When {
                left,
                compare,
                right,
                then,
                otherwise,
            } => {
                let unary = matches!(compare, Compare::IsNull | Compare::IsNotNull);
                if unary == right.is_some() {
                    return Err(PlanError::invalid(
                        path,
                        "a comparison needs `right`, except `is_null` and `is_not_null`",
                    ));
                }
                let left = self.sampler(left, &format!("{path}.left"))?;
                let right = right
                    .as_ref()
                    .map(|side| self.sampler(side, &format!("{path}.right")))
                    .transpose()?;
                let jump = self.ops.len();
                self.ops.push(Op::JumpUnless {
                    left,
                    compare: *compare,
                    right,
                    to: 0,
                });
                self.steps(then, &format!("{path}.then"))?;
                if otherwise.is_empty() {
                    self.patch_jump(jump);
                } else {
                    let over = self.ops.len();
                    self.ops.push(Op::Jump { to: 0 });
                    self.patch_jump(jump);
                    self.steps(otherwise, &format!("{path}.otherwise"))?;
                    self.patch_jump(over);
                }
            }
            Step::Chance {
                probability: share,
                then,
            } => {
                let jump = self.ops.len();
                self.ops.push(Op::JumpUnlessChance {
                    below: probability(*share, path)?,
                    to: 0,
                });
                self.steps(then, &format!("{path}.then"))?;
                self.patch_jump(jump);
            }
            Step::Repeat { times, steps } => {
                let times_path = format!("{path}.times");
                let slot = self.loops;
                self.loops += 1;
                let head = match times {
                    Times::Always(times) => {
                        within(*times, 1, MOST_REPETITIONS, &times_path)?;
                        Op::Repeat { slot, times: *times }
                    }
                    Times::Drawn(times) => {
                        let times = self.sampler(times, &times_path)?;
                        Op::RepeatDrawn { slot, times, to: 0 }
                    }
                };
                self.ops.push(head);
                let to = self.ops.len();
                self.steps(steps, &format!("{path}.steps"))?;
                self.ops.push(Op::RepeatEnd { slot, to });
                self.patch_jump(to - 1);
            }
            Step::Think { milliseconds } => self.think(milliseconds, &format!("{path}.milliseconds"), 1_000_000)?,
            Step::Pause { microseconds } => self.think(microseconds, &format!("{path}.microseconds"), 1_000)?,
        }
        Ok(())
    }

    fn think(&mut self, time: &Generator, path: &str, unit_ns: u64) -> Result<(), PlanError> {
        let time = self.sampler(time, path)?;
        self.ops.push(Op::Think { time, unit_ns });
        Ok(())
    }

    /// The slot that records whether a variable has its initial value, shared by all transactions.
    fn once_slot(&mut self, variable: &str) -> usize {
        let variable = self.names.variable(variable);
        match self.once.iter().find(|(known, _)| *known == variable) {
            Some((_, slot)) => *slot,
            None => {
                self.loops += 1;
                self.once.push((variable, self.loops - 1));
                self.loops - 1
            }
        }
    }

    fn sampler(&mut self, generator: &Generator, path: &str) -> Result<Sampler, PlanError> {
        let place = &mut Place::Transaction(&mut self.names);
        if !generator.has_expression() {
            return Sampler::compile(generator, path, place);
        }
        let mut generator = generator.clone();
        self.evaluate_first(&mut generator, path)?;
        Sampler::compile(&generator, path, &mut Place::Transaction(&mut self.names))
    }

    /// Replaces the expressions of a generator by variables. An expression can fail but a sampler can't, so expressions
    /// are evaluated before, into variables whose names can't occur in a plan.
    fn evaluate_first(&mut self, generator: &mut Generator, path: &str) -> Result<(), PlanError> {
        if let Generator::Expression { text, tree, .. } = generator {
            let expression = Compiled::new(tree, text, path, &self.names)?;
            let name = format!("\0{path}");
            let slot = self.names.variable(&name);
            self.ops.push(Op::Evaluate { slot, expression });
            *generator = Generator::Variable { name };
            return Ok(());
        }
        for (i, part) in generator.parts_mut().into_iter().enumerate() {
            self.evaluate_first(part, &format!("{path}.{i}"))?;
        }
        Ok(())
    }

    /// Sets the target of the jump at `from` to the next operation.
    fn patch_jump(&mut self, from: usize) {
        let here = self.ops.len();
        if let Op::JumpUnless { to, .. }
        | Op::JumpUnlessChance { to, .. }
        | Op::Jump { to }
        | Op::NextRow { to, .. }
        | Op::RepeatDrawn { to, .. } = &mut self.ops[from]
        {
            *to = here;
        }
    }
}
