use super::*;
use crate::program::{Op, Programs};
use crate::random::{Stream, client_stream};
use crate::value::Owned;
use dbdyno_protocol::plan::expression::{Branch, Function};
use dbdyno_protocol::plan::generator::Generator;
use dbdyno_protocol::plan::transaction::{Step, Transaction};
use proptest::prelude::*;
use serde::Deserialize;

fn constant(value: Literal) -> Expression {
    Expression::Constant { value }
}

fn call(function: Function, arguments: Vec<Expression>) -> Expression {
    Expression::Call { function, arguments }
}

fn integers(function: Function, values: &[i64]) -> Expression {
    call(
        function,
        values.iter().map(|v| constant(Literal::Integer(*v))).collect(),
    )
}

fn compiled(expression: &Expression) -> Compiled {
    Compiled::new(expression, "x", "here", &Names::default()).expect("valid")
}

fn evaluate(compiled: &Compiled, stream: &mut Stream, variables: &[Owned]) -> Result<Scalar, String> {
    compiled.evaluate(&mut Context {
        variables,
        stream,
        client: 3,
        seed: 5,
        row: crate::sampler::Position::default(),
        data_seed: 7,
    })
}

fn value_of(expression: &Expression) -> Result<Scalar, String> {
    evaluate(&compiled(expression), &mut client_stream(1, 0), &[])
}

/// The value that PostgreSQL 15's pgbench printed for an expression; doubles with 15 digits.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Printed {
    Int(i64),
    Double(String),
    Boolean(bool),
    Null,
    Error,
}

#[derive(Debug, Deserialize)]
struct Example {
    text: String,
    tree: Option<Expression>,
    gives: Option<Printed>,
}

fn is_what_was_printed(value: &Result<Scalar, String>, printed: &Printed) -> bool {
    match (value, printed) {
        (Err(_), Printed::Error) | (Ok(Scalar::Null), Printed::Null) => true,
        (Ok(Scalar::Integer(v)), Printed::Int(p)) => v == p,
        (Ok(Scalar::Boolean(v)), Printed::Boolean(p)) => v == p,
        (Ok(Scalar::Double(v)), Printed::Double(p)) => {
            let p: f64 = p.parse().expect("a double");
            v.to_bits() == p.to_bits() || (v.is_nan() && p.is_nan()) || (v - p).abs() <= 1e-14 * p.abs()
        }
        _ => false,
    }
}

#[test]
fn expressions_have_the_values_of_pgbench() {
    let text = include_str!("../../../../tests/support/pgbench_expressions.json");
    let examples: Vec<Example> = serde_json::from_str(text).expect("the examples");
    let mut compared = 0;
    for example in &examples {
        if let (Some(tree), Some(printed)) = (&example.tree, &example.gives) {
            let value = value_of(tree);
            assert!(
                is_what_was_printed(&value, printed),
                "{}: {value:?}, not {printed:?}",
                example.text
            );
            compared += 1;
        }
    }
    assert!(compared > 300, "only {compared} examples");
}

#[test]
fn a_variable_keeps_its_type() {
    let mut names = Names::default();
    names.variable("x");
    let tree = Expression::Variable { name: "x".into() };
    let compiled = Compiled::new(&tree, ":x", "here", &names).expect("valid");
    let text = |text: &str| Owned::Text(text.to_owned());
    for (held, expected) in [
        (Owned::Null, Some(Scalar::Null)),
        (Owned::Boolean(true), Some(Scalar::Boolean(true))),
        (Owned::Integer(-4), Some(Scalar::Integer(-4))),
        (Owned::Real(0.5), Some(Scalar::Double(0.5))),
        (text("t"), Some(Scalar::Boolean(true))),
        (text("yes"), Some(Scalar::Boolean(true))),
        (text("on"), Some(Scalar::Boolean(true))),
        (text("of"), Some(Scalar::Boolean(false))),
        (text("N"), Some(Scalar::Boolean(false))),
        (text("NULL"), Some(Scalar::Null)),
        (text("+12"), Some(Scalar::Integer(12))),
        (text("1e2"), Some(Scalar::Double(100.0))),
        (text("o"), None),
        (text("nu"), None),
        (text("abc"), None),
        (text(""), None),
        (text("99999999999999999999"), None),
        (Owned::Bytes(vec![1]), None),
    ] {
        let value = evaluate(&compiled, &mut client_stream(1, 0), std::slice::from_ref(&held));
        assert_eq!(value.ok(), expected, "{held:?}");
    }
}

#[test]
fn an_error_names_the_expression() {
    let tree = integers(Function::Divide, &[1, 0]);
    let compiled = Compiled::new(&tree, "1 / 0", "here", &Names::default()).expect("valid");
    let error = evaluate(&compiled, &mut client_stream(1, 0), &[]).expect_err("no value");
    assert_eq!(error, "`1 / 0`: division by zero");
}

#[test]
fn automatic_variables_need_no_step() {
    let value = |name: &str| value_of(&Expression::Variable { name: name.into() });
    assert_eq!(value("client_id"), Ok(Scalar::Integer(3)));
    assert_eq!(value("random_seed"), Ok(Scalar::Integer(5)));
    assert!(matches!(value("default_seed"), Ok(Scalar::Integer(_))));
    let unknown = Expression::Variable { name: "y".into() };
    let error = Compiled::new(&unknown, "", "here", &Names::default()).expect_err("refused");
    assert_eq!(error.to_string(), "here: no earlier step sets the variable `y`");
}

#[test]
fn a_wrong_number_of_arguments_is_refused() {
    let error = Compiled::new(&integers(Function::Random, &[1]), "", "here", &Names::default());
    assert_eq!(
        error.expect_err("refused").to_string(),
        "here: Random takes 2 arguments, not 1"
    );
}

/// The variables after the operations of the first transaction have run twice.
fn after_two_runs(transactions: Vec<Vec<Step>>) -> Result<Vec<Owned>, PlanError> {
    let transactions: Vec<Transaction> = transactions
        .into_iter()
        .map(|steps| Transaction {
            name: "t".into(),
            weight: 1.0,
            clients: None,
            steps,
        })
        .collect();
    let programs = Programs::compile(&transactions, 1)?;
    let mut state = programs.state(1, 1, 0, 1, 0);
    for _ in 0..2 {
        for program in programs.all() {
            let mut at = 0;
            while let Some(op) = program.ops.get(at) {
                at += 1;
                match op {
                    Op::Evaluate { slot, expression } => state.evaluate(*slot, expression).expect("a value"),
                    _ => at = state.step(op, at),
                }
            }
        }
    }
    Ok(state.variables)
}

fn set(variable: &str, tree: Expression, once: bool) -> Step {
    Step::Set {
        variable: variable.into(),
        value: drawn("x", tree),
        once,
    }
}

fn one_more(variable: &str) -> Expression {
    let read = Expression::Variable { name: variable.into() };
    call(Function::Add, vec![read, constant(Literal::Integer(1))])
}

#[test]
fn an_initial_value_is_set_once_in_any_transaction() {
    let steps = || {
        vec![
            set("n", constant(Literal::Integer(10)), true),
            set("n", one_more("n"), false),
        ]
    };
    let variables = after_two_runs(vec![steps(), steps()]).expect("valid");
    assert_eq!(variables, [Owned::Integer(14)]);
}

#[test]
fn an_expression_among_parameters_is_evaluated_first() {
    let steps = vec![
        set("n", constant(Literal::Boolean(true)), false),
        Step::Execute {
            statement: 0,
            params: vec![drawn("x", integers(Function::Multiply, &[6, 7]))],
            into: vec![],
            each: vec![],
        },
    ];
    let variables = after_two_runs(vec![steps]).expect("valid");
    assert_eq!(variables, [Owned::Boolean(true), Owned::Integer(42)]);
}

#[test]
fn an_expression_in_a_generator_is_evaluated_first() {
    let of = vec![drawn("6 * 7", integers(Function::Multiply, &[6, 7]))];
    let step = Step::Set {
        variable: "n".into(),
        value: Generator::Nullable {
            share: 0.0,
            of: Box::new(Generator::Choice {
                of,
                weights: None,
                index: None,
            }),
        },
        once: false,
    };
    let variables = after_two_runs(vec![vec![step]]).expect("valid");
    assert_eq!(variables, [Owned::Integer(42), Owned::Integer(42)]);
}

fn drawn(text: &str, tree: Expression) -> Generator {
    Generator::Expression {
        text: text.into(),
        tree,
        columns: BTreeMap::new(),
    }
}

/// Relative frequency of each of `width` values from 1 in `draws` draws.
fn shares(function: Function, width: i64, parameter: f64, draws: u32) -> Vec<f64> {
    let arguments = [Literal::Integer(1), Literal::Integer(width), Literal::Real(parameter)];
    let compiled = compiled(&call(function, arguments.into_iter().map(constant).collect()));
    let mut stream = client_stream(42, 0);
    let mut counts = vec![0.0; width as usize];
    for _ in 0..draws {
        match evaluate(&compiled, &mut stream, &[]) {
            Ok(Scalar::Integer(v)) => counts[(v - 1) as usize] += 1.0 / f64::from(draws),
            other => panic!("{other:?}"),
        }
    }
    counts
}

/// Maximum difference between observed and expected frequencies, in standard deviations.
fn worst(found: &[f64], wanted: &[f64], draws: u32) -> f64 {
    let deviations = found.iter().zip(wanted).map(|(found, wanted)| {
        let deviation = (wanted * (1.0 - wanted) / f64::from(draws)).sqrt();
        (found - wanted).abs() / deviation.max(1e-9)
    });
    deviations.fold(0.0, f64::max)
}

#[test]
fn exponential_draws_match_the_documented_distribution() {
    let (width, parameter, draws) = (10, 2.5, 200_000);
    let f = |x: f64| (-parameter * x / f64::from(width)).exp() / (1.0 - (-parameter).exp());
    let wanted: Vec<f64> = (0..width).map(|i| f(f64::from(i)) - f(f64::from(i + 1))).collect();
    let found = shares(Function::RandomExponential, i64::from(width), parameter, draws);
    assert!(worst(&found, &wanted, draws) < 4.5, "{found:?} {wanted:?}");
}

#[test]
fn zipfian_draws_match_the_documented_distribution() {
    let (width, parameter, draws) = (10, 1.5, 200_000);
    let sum: f64 = (1..=width).map(|k| f64::from(k).powf(-parameter)).sum();
    let wanted: Vec<f64> = (1..=width).map(|k| f64::from(k).powf(-parameter) / sum).collect();
    let found = shares(Function::RandomZipfian, i64::from(width), parameter, draws);
    assert!(worst(&found, &wanted, draws) < 4.5, "{found:?} {wanted:?}");
}

#[test]
fn gaussian_draws_match_the_documented_distribution() {
    // From the documentation: with a parameter of 2, half of the draws are in the middle 33.7% of the range (0.6745 of
    // 2 standard deviations). Because of the truncation: Φ(0.637) - Φ(-0.637) = 0.4759, divided by 2 Φ(2) - 1 = 0.9545.
    let draws = 200_000;
    let found = shares(Function::RandomGaussian, 1000, 2.0, draws);
    // Φ(x) to 7 digits, at the quarters of the range: x = -1, 0, 1.
    let outer = (0.158_655_3 - 0.022_750_1) / 0.954_499_7;
    let wanted = [outer, 0.5 - outer, 0.5 - outer, outer];
    let quarters: Vec<f64> = found.chunks(250).map(|quarter| quarter.iter().sum()).collect();
    assert!(worst(&quarters, &wanted, draws) < 4.5, "{quarters:?} {wanted:?}");
}

fn functions() -> impl Strategy<Value = Function> {
    proptest::sample::select(vec![
        Function::Add,
        Function::Subtract,
        Function::Multiply,
        Function::Divide,
        Function::Modulo,
        Function::Equal,
        Function::Less,
        Function::GreaterOrEqual,
        Function::And,
        Function::Or,
        Function::Is,
        Function::BitAnd,
        Function::BitXor,
        Function::ShiftLeft,
        Function::ShiftRight,
        Function::Power,
        Function::Greatest,
        Function::Least,
        Function::Random,
        Function::HashFnv1a,
        Function::HashMurmur2,
    ])
}

fn literals() -> impl Strategy<Value = Literal> {
    prop_oneof![
        Just(Literal::Null),
        any::<bool>().prop_map(Literal::Boolean),
        any::<i64>().prop_map(Literal::Integer),
        proptest::sample::select(vec![0, 1, -1, i64::MIN, i64::MAX]).prop_map(Literal::Integer),
        any::<f64>().prop_map(Literal::Real),
    ]
}

fn expressions() -> impl Strategy<Value = Expression> {
    literals().prop_map(constant).prop_recursive(4, 40, 3, |inner| {
        prop_oneof![
            (functions(), inner.clone(), inner.clone()).prop_map(|(function, a, b)| call(function, vec![a, b])),
            (
                proptest::sample::select(vec![
                    Function::Negate,
                    Function::Not,
                    Function::Truth,
                    Function::BitNot,
                    Function::Abs,
                    Function::Int,
                    Function::Double,
                    Function::Sqrt,
                    Function::Ln,
                    Function::Exp,
                ]),
                inner.clone()
            )
                .prop_map(|(function, a)| call(function, vec![a])),
            (
                proptest::sample::select(vec![
                    Function::RandomGaussian,
                    Function::RandomExponential,
                    Function::RandomZipfian,
                    Function::Permute,
                ]),
                inner.clone(),
                inner.clone(),
                inner.clone()
            )
                .prop_map(|(function, a, b, c)| call(function, vec![a, b, c])),
            (inner.clone(), inner.clone(), inner).prop_map(|(when, then, otherwise)| Expression::Case {
                branches: vec![Branch { when, then }],
                otherwise: Some(Box::new(otherwise)),
            }),
        ]
    })
}

proptest! {
    #[test]
    fn every_expression_gives_a_value_or_an_error(expression in expressions()) {
        // It must only end without a panic.
        let _ = value_of(&expression);
    }

    #[test]
    fn draws_stay_in_their_range(
        low in any::<i64>(), width in 1i64..i64::MAX, parameter in 2.0f64..900.0, seed in any::<u64>(),
    ) {
        let high = low.saturating_add(width - 1);
        for function in [Function::RandomGaussian, Function::RandomExponential, Function::RandomZipfian] {
            let arguments = [Literal::Integer(low), Literal::Integer(high), Literal::Real(parameter)];
            let compiled = compiled(&call(function, arguments.into_iter().map(constant).collect()));
            match evaluate(&compiled, &mut client_stream(seed, 0), &[]) {
                Ok(Scalar::Integer(v)) => prop_assert!((low..=high).contains(&v)),
                other => prop_assert!(false, "{:?}", other),
            }
        }
        let drawn = value_of(&integers(Function::Random, &[low, high]));
        prop_assert!(matches!(drawn, Ok(Scalar::Integer(v)) if (low..=high).contains(&v)));
    }

    #[test]
    fn permute_reaches_every_place_once(size in 1i64..500, seed in any::<i64>()) {
        let mut places: Vec<i64> = Vec::new();
        for i in 0..size {
            match value_of(&integers(Function::Permute, &[i, size, seed])) {
                Ok(Scalar::Integer(v)) => places.push(v),
                other => prop_assert!(false, "{:?}", other),
            }
        }
        let around = value_of(&integers(Function::Permute, &[size, size, seed]));
        prop_assert_eq!(around, Ok(Scalar::Integer(places[0])));
        places.sort_unstable();
        prop_assert_eq!(places, (0..size).collect::<Vec<_>>());
    }
}
