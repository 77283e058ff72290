use super::*;
use crate::random::client_stream;
use dbdyno_protocol::plan::expression::{Expression, Function};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The values of a generator in `count` uses in a transaction of this client.
fn draws(generator: &Generator, count: usize, client: (u32, u32)) -> Vec<Owned> {
    let mut names = Names::default();
    let sampler = Sampler::compile(generator, "test", &mut Place::Transaction(&mut names)).expect("a valid generator");
    let (mut stream, mut counters) = (client_stream(7, client.0), vec![0; names.counters()]);
    let mut values = Values::default();
    for _ in 0..count {
        let mut scope = Scope {
            seed: 7,
            stream: &mut stream,
            row: Position::default(),
            variables: &[],
            counters: &mut counters,
            client,
            taken: None,
            problem: None,
        };
        sampler.sample(&mut scope, &mut values);
    }
    assert_eq!(values.len(), count);
    values
        .iter()
        .map(|value| {
            let mut owned = Owned::Null;
            owned.assign(value);
            owned
        })
        .collect()
}

fn integers(generator: &Generator, count: usize) -> Vec<i64> {
    draws(generator, count, (0, 1))
        .into_iter()
        .map(|value| match value {
            Owned::Integer(v) => v,
            other => panic!("not an integer: {other:?}"),
        })
        .collect()
}

fn texts(generator: &Generator, count: usize) -> Vec<String> {
    draws(generator, count, (0, 1))
        .into_iter()
        .map(|value| match value {
            Owned::Text(v) => v,
            other => panic!("not text: {other:?}"),
        })
        .collect()
}

fn at_row(generator: &Generator, stream: u64, row: u64) -> Owned {
    let sampler = Sampler::compile(generator, "test", &mut Place::Row).expect("a valid generator");
    let mut values = Values::default();
    sampler.sample(
        &mut row_scope(7, &mut row_stream(7, stream, row), Position::of(row)),
        &mut values,
    );
    let mut owned = Owned::Null;
    owned.assign(values.get(0).expect("one value"));
    owned
}

#[test]
fn json_keeps_the_types_of_values() {
    let text = Generator::Constant {
        value: Literal::Text("a \"b\" \\ \n ü".into()),
    };
    let boolean = Generator::Constant {
        value: Literal::Boolean(true),
    };
    let real = Generator::Constant {
        value: Literal::Real(0.5),
    };
    let null = Generator::Nullable {
        share: 1.0,
        of: Box::new(constant(1)),
    };
    let list = Generator::List {
        of: vec![constant(1), boolean],
        count: Some(Box::new(constant(2))),
    };
    let names = ["text", "a \"quoted\" name", "none", "list", "empty"]
        .map(String::from)
        .to_vec();
    let empty = Generator::Object {
        names: Vec::new(),
        of: Vec::new(),
    };
    let generator = Generator::Object {
        names,
        of: vec![text, real, null, list, empty],
    };
    let written = texts(&generator, 1).remove(0);
    let read: serde_json::Value = serde_json::from_str(&written).expect("valid JSON");
    let expected = serde_json::json!({
        "text": "a \"b\" \\ \n ü", "a \"quoted\" name": 0.5, "none": null, "list": [1, true, 1, true], "empty": {},
    });
    assert_eq!(read, expected, "{written}");
}

proptest! {
    #[test]
    fn any_string_is_valid_json(text in any::<String>()) {
        let value = Literal::Text(text.clone());
        let generator = Generator::List { of: vec![Generator::Constant { value }], count: None };
        let read: Vec<String> = serde_json::from_str(&texts(&generator, 1)[0]).expect("valid JSON");
        prop_assert_eq!(read, vec![text]);
    }

    #[test]
    fn uniform_stays_in_range(low in any::<i64>(), high in any::<i64>()) {
        prop_assume!(low <= high);
        let drawn = integers(&Generator::Uniform { low, high }, 50);
        prop_assert!(drawn.iter().all(|v| (low..=high).contains(v)));
    }

    #[test]
    fn zipf_and_gaussian_stay_in_range(low in -1000i64..1000, width in 0i64..100_000, exponent in 0.1f64..3.0, scattered: bool) {
        let high = low + width;
        for generator in [Generator::Zipf { low, high, exponent, scattered }, Generator::Gaussian { low, high, deviations: 2.0 }] {
            let drawn = integers(&generator, 50);
            prop_assert!(drawn.iter().all(|v| (low..=high).contains(v)));
        }
    }

    #[test]
    fn text_has_the_requested_length(min in 0u32..50, more in 0u32..50) {
        for text in texts(&Generator::Text { min, max: min + more, characters: None }, 20) {
            let length = text.len() as u32;
            prop_assert!(min <= length && length <= min + more);
        }
    }

    #[test]
    fn text_contains_only_the_given_characters(characters in "[a-zäöü0-9]{1,20}", length in 0u32..50) {
        let generator = Generator::Text { min: length, max: length, characters: Some(characters.clone()) };
        for text in texts(&generator, 20) {
            prop_assert_eq!(text.chars().count(), length as usize);
            prop_assert!(text.chars().all(|each| characters.contains(each)));
        }
    }

    #[test]
    fn an_index_chooses_the_generator(index in -50i64..50, count in 1usize..10) {
        let of = (0..count).map(|value| constant(value as i64)).collect();
        let generator = Generator::Choice { of, weights: None, index: Some(Box::new(constant(index))) };
        prop_assert_eq!(integers(&generator, 1), vec![index.rem_euclid(count as i64)]);
    }

    #[test]
    fn a_padded_number_has_its_width(value in any::<i32>(), width in 1usize..20) {
        let template = format!("{{:0{width}}}");
        let generator = Generator::Format { template, parts: vec![constant(value.into())] };
        prop_assert_eq!(texts(&generator, 1), vec![format!("{value:0width$}")]);
    }

    #[test]
    fn dates_are_those_of_the_calendar(days in -200_000i64..200_000) {
        let next = |days| texts(&Generator::Time { of: Box::new(constant(days)), format: DateFormat::Date }, 1).remove(0);
        let number = |text: &str| {
            let parts: Vec<i64> = text.split('-').map(|part| part.parse().expect("a number")).collect();
            (parts[0], parts[1], parts[2])
        };
        let ((year, month, day), (next_year, next_month, next_day)) = (number(&next(days)), number(&next(days + 1)));
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let length = match month { 2 => 28 + i64::from(is_leap), 4 | 6 | 9 | 11 => 30, _ => 31 };
        let expected = match (day == length, month == 12) {
            (false, _) => (year, month, day + 1),
            (true, false) => (year, month + 1, 1),
            (true, true) => (year + 1, 1, 1),
        };
        prop_assert_eq!((next_year, next_month, next_day), expected);
    }

    #[test]
    fn a_column_uses_the_values_of_its_row(row in 0u64..1_000_000, stream in 1u64..9) {
        let other = Generator::Uniform { low: -1000, high: 1000 };
        let same = Generator::Reference { of: Box::new(other.clone()), stream, row: Box::new(serial()) };
        let variable = |name: &str| Expression::Variable { name: name.into() };
        let tree = Expression::Call {
            function: Function::Subtract,
            arguments: vec![variable("row"), variable("other")],
        };
        let generator = Generator::Expression { text: String::new(), tree, columns: [("other".into(), same)].into() };
        let Owned::Integer(value) = at_row(&other, stream, row) else { panic!("not an integer") };
        prop_assert_eq!(at_row(&generator, 99, row), Owned::Integer(row as i64 - value));
    }

    #[test]
    fn clients_never_share_serial_values(clients in 1u32..20) {
        let mut all: Vec<i64> = (0..clients)
            .flat_map(|client| draws(&Generator::Serial { start: 5, step: 3, counter: None }, 10, (client, clients)))
            .map(|value| if let Owned::Integer(v) = value { v } else { panic!("not an integer") })
            .collect();
        all.sort_unstable();
        let expected: Vec<i64> = (0..i64::from(clients) * 10).map(|index| 5 + 3 * index).collect();
        prop_assert_eq!(all, expected);
    }

    #[test]
    fn a_reference_repeats_the_rows_value(row in 0i64..1_000_000, stream in any::<u64>()) {
        for of in [
            Generator::Uuid { version: UuidKind::V4, format: UuidFormat::Hex, counter: None },
            Generator::Text { min: 3, max: 30, characters: None },
            Generator::Serial { start: 10, step: 7, counter: None },
            Generator::Format { template: "user{}-{}".into(), parts: vec![
                Generator::Serial { start: 0, step: 1, counter: None }, Generator::Uniform { low: 0, high: 99 },
            ] },
        ] {
            let row_is = Generator::Constant { value: Literal::Integer(row) };
            let reference = Generator::Reference { of: Box::new(of.clone()), stream, row: Box::new(row_is) };
            prop_assert_eq!(&draws(&reference, 1, (0, 1))[0], &at_row(&of, stream, row as u64));
        }
    }
}

fn constant(value: i64) -> Generator {
    Generator::Constant {
        value: Literal::Integer(value),
    }
}

fn serial() -> Generator {
    Generator::Serial {
        start: 0,
        step: 1,
        counter: None,
    }
}

#[test]
fn a_choice_follows_its_weights() {
    let generator = Generator::Choice {
        of: vec![
            Generator::Uniform { low: 0, high: 9 },
            Generator::Uniform { low: 100, high: 199 },
            constant(1000),
        ],
        weights: Some(vec![6.0, 3.0, 1.0]),
        index: None,
    };
    let (mut counts, draws) = ([0.0; 3], 100_000);
    for value in integers(&generator, draws) {
        counts[usize::from(value >= 100) + usize::from(value >= 1000)] += 1.0;
    }
    let expected = [0.6, 0.3, 0.1].map(|share| share * draws as f64);
    let chi2: f64 = counts
        .iter()
        .zip(expected)
        .map(|(n, e): (&f64, f64)| (n - e).powi(2) / e)
        .sum();
    assert!(chi2 < 13.8, "chi-squared {chi2} of 2 degrees of freedom: {counts:?}");
}

#[test]
fn a_failed_expression_of_a_column_is_reported() {
    let generator = Generator::Format {
        template: "{}".into(),
        parts: vec![Generator::Expression {
            text: "1 / :row".into(),
            tree: Expression::Call {
                function: Function::Divide,
                arguments: vec![
                    Expression::Constant {
                        value: Literal::Integer(1),
                    },
                    Expression::Variable { name: "row".into() },
                ],
            },
            columns: BTreeMap::new(),
        }],
    };
    let sampler = Sampler::compile(&generator, "test", &mut Place::Row).expect("valid");
    let problem = |row| {
        let mut stream = row_stream(7, 1, row);
        let mut scope = row_scope(7, &mut stream, Position::of(row));
        sampler.sample(&mut scope, &mut Values::default());
        scope.problem
    };
    assert_eq!(problem(1), None);
    assert_eq!(problem(0).as_deref(), Some("`1 / :row`: division by zero"));
}

#[test]
fn uniform_is_uniform() {
    // Chi-squared with 99 degrees of freedom: above 160 has a probability below 0.0001.
    let mut counts = [0f64; 100];
    for value in integers(&Generator::Uniform { low: 0, high: 99 }, 100_000) {
        counts[value as usize] += 1.0;
    }
    let statistic: f64 = counts.iter().map(|count| (count - 1000.0).powi(2) / 1000.0).sum();
    assert!(statistic < 160.0, "chi-squared {statistic}");
}

#[test]
fn zipf_has_its_frequencies() {
    // With exponent 1 over 1000 values, the first has 1/H(1000) = 0.1336 of the draws, and the second half as many.
    let draws = integers(
        &Generator::Zipf {
            low: 1,
            high: 1000,
            exponent: 1.0,
            scattered: false,
        },
        200_000,
    );
    let share = |k| draws.iter().filter(|v| **v == k).count() as f64 / 200_000.0;
    assert!((share(1) - 0.1336).abs() < 0.004, "{}", share(1));
    assert!((share(2) - 0.0668).abs() < 0.003, "{}", share(2));
}

#[test]
fn gaussian_is_centered() {
    let draws = integers(
        &Generator::Gaussian {
            low: 0,
            high: 1000,
            deviations: 5.0,
        },
        50_000,
    );
    let mean = draws.iter().sum::<i64>() as f64 / 50_000.0;
    let variance = draws.iter().map(|v| (*v as f64 - mean).powi(2)).sum::<f64>() / 50_000.0;
    assert!((mean - 500.0).abs() < 3.0, "mean {mean}");
    assert!((variance.sqrt() - 100.0).abs() < 2.0, "deviation {}", variance.sqrt());
}

#[test]
fn pick_follows_its_weights() {
    let values = vec![
        Literal::Text("a".into()),
        Literal::Text("b".into()),
        Literal::Text("never".into()),
    ];
    let picks = texts(
        &Generator::Pick {
            values,
            weights: Some(vec![3.0, 1.0, 0.0]),
        },
        40_000,
    );
    let share = picks.iter().filter(|v| *v == "a").count() as f64 / 40_000.0;
    assert!((share - 0.75).abs() < 0.01, "{share}");
    assert!(!picks.contains(&"never".to_owned()));
}

#[test]
fn uuids_have_their_version() {
    let parse = |version, format| {
        let id = texts(
            &Generator::Uuid {
                version,
                format,
                counter: None,
            },
            1,
        )
        .remove(0);
        uuid::Uuid::parse_str(&id).expect("a UUID")
    };
    assert_eq!(parse(UuidKind::V4, UuidFormat::Hex).get_version_num(), 4);
    let ordered = parse(UuidKind::V7, UuidFormat::Dashed);
    assert_eq!(ordered.get_version_num(), 7);
    let (seconds, _) = ordered.get_timestamp().expect("a time").to_unix();
    assert!(seconds.abs_diff(unix_milliseconds() / 1000) < 100);
}

#[test]
fn blocked_uuids_move_through_their_prefixes() {
    let version = UuidKind::SequenceBlocked {
        block_size: 10,
        block_count: 256,
        start: 0,
    };
    for (index, id) in texts(
        &Generator::Uuid {
            version,
            format: UuidFormat::Hex,
            counter: None,
        },
        3000,
    )
    .iter()
    .enumerate()
    {
        assert_eq!(id[..2], format!("{:02x}", index / 10 % 256), "at {index}");
        assert_eq!(uuid::Uuid::parse_str(id).expect("a UUID").get_version_num(), 4);
    }
    let version = UuidKind::TimeBlocked {
        interval_length: 60,
        interval_count: 65_536,
    };
    let before = unix_milliseconds() / 60_000 % 65_536;
    let id = texts(
        &Generator::Uuid {
            version,
            format: UuidFormat::Hex,
            counter: None,
        },
        1,
    )
    .remove(0);
    let block = u64::from_str_radix(&id[..4], 16).expect("hex digits");
    assert!(block == before || block == (before + 1) % 65_536);
}

#[test]
fn times_are_written_in_utc() {
    for (seconds, expected) in [
        (0, "1970-01-01 00:00:00"),
        (951_782_400, "2000-02-29 00:00:00"),
        (1_767_225_599, "2025-12-31 23:59:59"),
    ] {
        let mut values = Values::default();
        values.push_text(|text| write_time(seconds, text));
        assert_eq!(values.get(0), Some(Value::Text(expected)));
    }
}

#[test]
fn nulls_have_their_probability() {
    let of = Box::new(Generator::Serial {
        start: 1,
        step: 1,
        counter: None,
    });
    let nulls = draws(&Generator::Nullable { share: 0.25, of }, 40_000, (0, 1));
    let share = nulls.iter().filter(|v| **v == Owned::Null).count() as f64 / 40_000.0;
    assert!((share - 0.25).abs() < 0.01, "{share}");
}

#[test]
fn invalid_generators_are_refused_with_their_path() {
    let refused = |generator| {
        let mut names = Names::default();
        let error = Sampler::compile(&generator, "here", &mut Place::Transaction(&mut names)).expect_err("refused");
        assert!(error.to_string().starts_with("here"), "{error}");
    };
    refused(Generator::Uniform { low: 2, high: 1 });
    refused(Generator::Variable { name: "unset".into() });
    refused(Generator::Zipf {
        low: 0,
        high: 9,
        exponent: 0.0,
        scattered: false,
    });
    refused(Generator::Pick {
        values: vec![],
        weights: None,
    });
    refused(Generator::Format {
        template: "{}{}".into(),
        parts: vec![],
    });
    refused(Generator::Nullable {
        share: 1.5,
        of: Box::new(Generator::Serial {
            start: 1,
            step: 1,
            counter: None,
        }),
    });
}
