use super::*;
use dbdyno_protocol::plan::generator::Generator;
use dbdyno_protocol::plan::literal::Literal;
use dbdyno_protocol::plan::transaction::{Step, Times};

fn constant(value: i64) -> Generator {
    Generator::Constant {
        value: Literal::Integer(value),
    }
}

fn set(variable: &str, value: i64) -> Step {
    Step::Set {
        variable: variable.into(),
        value: constant(value),
        once: false,
    }
}

/// Runs the client-side operations of a program. Returns the variables and the number of operations executed.
fn run(steps: Vec<Step>) -> (Vec<Owned>, usize) {
    let transaction = Transaction {
        name: "t".into(),
        weight: 1.0,
        clients: None,
        steps,
    };
    let programs = Programs::compile(&[transaction], 0).expect("valid");
    let mut state = programs.state(1, 1, 0, 1, 0);
    let (mut at, mut ran) = (0, 0);
    let ops = &programs.all()[0].ops;
    while at < ops.len() {
        ran += 1;
        assert!(ran < 1000, "the program does not end");
        let op = &ops[at];
        assert!(
            !matches!(op, Op::Execute(_) | Op::Think { .. }),
            "not in this test: {op:?}"
        );
        at = state.step(op, at + 1);
    }
    (state.variables, ran)
}

fn when(left: i64, compare: Compare, right: i64) -> Step {
    Step::When {
        left: constant(left),
        compare,
        right: Some(constant(right)),
        then: vec![set("x", 1)],
        otherwise: vec![set("x", 2)],
    }
}

#[test]
fn when_runs_only_one_branch() {
    for (compare, expected) in [
        (Compare::Eq, [2, 1, 2]),
        (Compare::Ne, [1, 2, 1]),
        (Compare::Lt, [1, 2, 2]),
        (Compare::Le, [1, 1, 2]),
        (Compare::Gt, [2, 2, 1]),
        (Compare::Ge, [2, 1, 1]),
    ] {
        for (right, expected) in [6, 5, 4].into_iter().zip(expected) {
            let (variables, _) = run(vec![when(5, compare, right)]);
            assert_eq!(variables, [Owned::Integer(expected)], "5 {compare:?} {right}");
        }
    }
}

#[test]
fn nested_repeats_run_their_bodies_the_given_times() {
    let inner = Step::Repeat {
        times: Times::Always(3),
        steps: vec![set("x", 1)],
    };
    let (_, ran) = run(vec![Step::Repeat {
        times: Times::Always(4),
        steps: vec![inner],
    }]);
    // The outer head once; four times the inner head, three times two inner operations, and the outer end.
    assert_eq!(ran, 1 + 4 * (1 + 3 * 2 + 1));
}

#[test]
fn a_drawn_number_of_repetitions_may_be_0() {
    for (times, expected) in [(3, 1 + 3 * 2), (1, 1 + 2), (0, 1), (-5, 1)] {
        let (_, ran) = run(vec![Step::Repeat {
            times: Times::Drawn(constant(times)),
            steps: vec![set("x", 1)],
        }]);
        assert_eq!(ran, expected, "{times}");
    }
}

#[test]
fn chance_0_never_and_chance_1_always_runs() {
    for (probability, expected) in [(0.0, 1), (1.0, 2)] {
        let (_, ran) = run(vec![Step::Chance {
            probability,
            then: vec![set("x", 1)],
        }]);
        assert_eq!(ran, expected);
    }
}

#[test]
fn a_variable_must_be_set_before_it_is_used() {
    let steps = vec![Step::Set {
        variable: "a".into(),
        value: Generator::Variable { name: "b".into() },
        once: false,
    }];
    let transaction = Transaction {
        name: "t".into(),
        weight: 1.0,
        clients: None,
        steps,
    };
    let error = Programs::compile(&[transaction], 0).expect_err("refused");
    assert_eq!(
        error.to_string(),
        "task.transactions[0].steps[0].value: no earlier step sets the variable `b`"
    );
}

#[test]
fn a_statement_must_exist() {
    let steps = vec![Step::Execute {
        statement: 3,
        params: vec![],
        into: vec![],
        each: vec![],
    }];
    let transaction = Transaction {
        name: "t".into(),
        weight: 1.0,
        clients: None,
        steps,
    };
    let error = Programs::compile(&[transaction], 2).expect_err("refused");
    assert!(
        error.to_string().contains("statement 3 does not exist; the plan has 2"),
        "{error}"
    );
}

#[test]
fn the_last_clients_have_transactions_of_their_own() {
    let transaction = |name: &str, weight, clients| Transaction {
        name: name.into(),
        weight,
        clients,
        steps: vec![set("x", 1)],
    };
    let transactions = [
        transaction("a", 1.0, None),
        transaction("report", 1.0, Some(1)),
        transaction("b", 3.0, None),
        transaction("vacuum", 1.0, Some(2)),
    ];
    let programs = Programs::compile(&transactions, 0).expect("valid");
    let chosen = |client| {
        let mut state = programs.state(1, 1, client, 6, 0);
        let mut counts = [0; 4];
        (0..1000).for_each(|_| counts[programs.choose(&mut state)] += 1);
        counts
    };
    for client in 0..3 {
        let [a, report, b, vacuum] = chosen(client);
        assert_eq!((report, vacuum), (0, 0));
        assert!((150..350).contains(&a), "{a} of {}", a + b);
    }
    assert_eq!(chosen(3), [0, 1000, 0, 0]);
    assert_eq!(chosen(4), [0, 0, 0, 1000]);
    assert_eq!(chosen(5), [0, 0, 0, 1000]);
}
