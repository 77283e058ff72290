//! Expressions evaluated while a transaction runs, as in pgbench's `\set` and `\if`.
//!
//! A value is an integer, a double, a Boolean or null. A failed operation, such as an integer overflow, is an error
//! that ends the transaction. Functions behave as in PostgreSQL 15's pgbench, according to its documentation and tests
//! against it; `docs/how-to/pgbench-scripts.md` lists the differences.

mod error;
mod evaluate;
mod functions;
#[cfg(test)]
mod tests;

use dbdyno_protocol::plan::expression::Expression;
use dbdyno_protocol::plan::generator::Generator;
pub use error::EvaluationError;
pub(crate) use evaluate::read;
pub use evaluate::{Context, Scalar};

use crate::names::Names;
use crate::sampler::{Place, Sampler, Scope};
use dbdyno_protocol::plan::PlanError;
use dbdyno_protocol::plan::literal::Literal;
use evaluate::Node;
use std::collections::BTreeMap;

/// An expression that has been checked, with names resolved to slots.
#[derive(Debug, Clone)]
pub struct Compiled {
    text: Box<str>,
    root: Node,
}

impl Compiled {
    /// Checks an expression. `text`: its source, for errors at run time. `path`: its place in the plan.
    pub fn new(expression: &Expression, text: &str, path: &str, names: &Names) -> Result<Self, PlanError> {
        Ok(Self {
            text: text.into(),
            root: compile(expression, path, &|name| {
                names.find(name).map(|slot| Node::Variable(slot, name.into()))
            })?,
        })
    }

    /// Checks an expression of a column. `columns`: generators of the other columns' values in the same row.
    pub fn in_row(
        expression: &Expression,
        text: &str,
        path: &str,
        columns: &BTreeMap<String, Generator>,
    ) -> Result<Self, PlanError> {
        let mut samplers = BTreeMap::new();
        for (name, generator) in columns {
            let sampler = Sampler::compile(generator, &format!("{path}.columns.{name}"), &mut Place::Row)?;
            samplers.insert(name.as_str(), sampler);
        }
        let find = |name: &str| match (samplers.get(name), name) {
            (Some(sampler), _) => Some(Node::Column(Box::new(sampler.clone()), name.into())),
            (None, "row") => Some(Node::Row),
            (None, "parent") => Some(Node::Parent),
            (None, "child") => Some(Node::Child),
            (None, _) => None,
        };
        Ok(Self {
            text: text.into(),
            root: compile(expression, path, &find)?,
        })
    }

    /// Whether it is the number of the parent's row.
    pub(crate) fn is_parent(&self) -> bool {
        matches!(self.root, Node::Parent)
    }

    /// Evaluates it. The error is one line: the source and the problem.
    pub fn evaluate(&self, context: &mut Context<'_>) -> Result<Scalar, String> {
        evaluate::evaluate(&self.root, context).map_err(|error| format!("`{}`: {error}", self.text))
    }

    /// Evaluates an expression of a column. The error is one line.
    pub(crate) fn in_scope(&self, scope: &mut Scope<'_>) -> Result<Scalar, String> {
        self.value(scope).map_err(|error| format!("`{}`: {error}", self.text))
    }

    /// Evaluates an expression of a column.
    pub(crate) fn value(&self, scope: &mut Scope<'_>) -> Result<Scalar, EvaluationError> {
        evaluate::evaluate(
            &self.root,
            &mut Context {
                variables: scope.variables,
                stream: scope.stream,
                client: scope.client.0,
                seed: scope.seed,
                data_seed: scope.seed,
                row: scope.row,
            },
        )
    }
}

/// `find`: the node of a variable that is not automatic.
fn compile(expression: &Expression, path: &str, find: &dyn Fn(&str) -> Option<Node>) -> Result<Node, PlanError> {
    Ok(match expression {
        Expression::Constant { value } => Node::Constant(match value {
            Literal::Null => Scalar::Null,
            Literal::Boolean(v) => Scalar::Boolean(*v),
            Literal::Integer(v) => Scalar::Integer(*v),
            Literal::Real(v) => Scalar::Double(*v),
            Literal::Text(_) => {
                let problem = "a constant must be a number, a Boolean or null";
                return Err(PlanError::invalid(path, problem));
            }
        }),
        Expression::Variable { name } => match (find(name), name.as_str()) {
            (Some(node), _) => node,
            (None, "client_id") => Node::ClientId,
            (None, "random_seed") => Node::RandomSeed,
            (None, "default_seed") => Node::DefaultSeed,
            _ => {
                let problem = format!("no earlier step sets the variable `{name}`");
                return Err(PlanError::invalid(path, problem));
            }
        },
        Expression::Call { function, arguments } => {
            let (least, most) = function.arguments();
            if !(least..=most).contains(&arguments.len()) {
                let wanted = if least == most { "" } else { " or more" };
                let problem = format!("{function:?} takes {least}{wanted} arguments, not {}", arguments.len());
                return Err(PlanError::invalid(path, problem));
            }
            let arguments = arguments.iter().map(|each| compile(each, path, find));
            Node::Call(*function, arguments.collect::<Result<_, _>>()?)
        }
        Expression::Case { branches, otherwise } => {
            if branches.is_empty() {
                return Err(PlanError::invalid(path, "`case` needs at least one branch"));
            }
            let pairs = branches
                .iter()
                .map(|each| Ok((compile(&each.when, path, find)?, compile(&each.then, path, find)?)))
                .collect::<Result<_, PlanError>>()?;
            let otherwise = match otherwise {
                Some(value) => compile(value, path, find)?,
                None => Node::Constant(Scalar::Null),
            };
            Node::Case(pairs, Box::new(otherwise))
        }
    })
}
