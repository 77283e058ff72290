use super::*;
use crate::queue::Queue;
use dbdyno_reports::Texts;
use proptest::prelude::*;
use std::sync::Arc;

/// An execution's statement, start, end, rows and error.
type Seen = (String, u64, u64, Option<u64>, Option<String>);

struct Connection {
    parser: Postgresql,
    queue: Arc<Queue>,
}

impl Connection {
    fn new() -> Self {
        let queue = Arc::new(Queue::new(1, 1 << 20));
        let reporter = Reporter::new(Arc::clone(&queue), 0, Rc::new(RefCell::new(Texts::default())), 1);
        Self {
            parser: Postgresql::new(reporter),
            queue,
        }
    }

    fn client(&mut self, now: u64, messages: &[(u8, &[u8])]) {
        self.parser.client_sent(&framed(messages), now);
    }

    fn server(&mut self, now: u64, messages: &[(u8, &[u8])]) {
        self.parser.server_sent(&framed(messages), now);
    }

    fn seen(&mut self) -> Vec<Seen> {
        let taken = self.queue.taken();
        let seen = taken.iter().map(|each| {
            let text = each.text.shown().unwrap_or("?").to_owned();
            (
                text,
                each.start,
                each.end,
                each.rows,
                each.error.as_deref().map(str::to_owned),
            )
        });
        seen.collect()
    }
}

fn framed(messages: &[(u8, &[u8])]) -> Vec<u8> {
    let mut made = Vec::new();
    for (mark, body) in messages {
        made.push(*mark);
        made.extend((body.len() as u32 + 4).to_be_bytes());
        made.extend(*body);
    }
    made
}

fn seen(text: &str, start: u64, end: u64, rows: u64, error: Option<&str>) -> Seen {
    (text.into(), start, end, Some(rows), error.map(str::to_owned))
}

const NO_PARAMETERS: &[u8] = b"\0s\0\0\0\0\0\0\0";
const IDLE: (u8, &[u8]) = (b'Z', b"I");

#[test]
fn a_statement_of_a_pipeline_begins_when_the_one_before_has_ended() {
    let mut here = Connection::new();
    here.client(
        10,
        &[
            (b'P', b"s\0select 1\0\0\0"),
            (b'B', NO_PARAMETERS),
            (b'E', b"\0\0\0\0\0"),
        ],
    );
    here.client(
        11,
        &[
            (b'P', b"s\0select 2\0\0\0"),
            (b'B', NO_PARAMETERS),
            (b'E', b"\0\0\0\0\0"),
            (b'S', b""),
        ],
    );
    here.server(20, &[(b'1', b""), (b'2', b""), (b'D', b"x"), (b'C', b"SELECT 1\0")]);
    here.server(
        25,
        &[(b'1', b""), (b'2', b""), (b'D', b"x"), (b'C', b"SELECT 3\0"), IDLE],
    );
    assert_eq!(
        here.seen(),
        [seen("select 1", 10, 20, 1, None), seen("select 2", 20, 25, 3, None)]
    );
}

#[test]
fn statements_with_names_are_kept() {
    let mut here = Connection::new();
    // A declared type that is built in, and one that isn't.
    let types: &[u8] = b"\0\x02\0\0\0\x17\0\x01\0\0";
    let parse = |name: &str| [name.as_bytes(), b"\0select $1, $2\0", types].concat();
    let bind = |name: &str| [b"\0", name.as_bytes(), b"\0\0\0\0\x02\0\0\0\x017\xff\xff\xff\xff\0\0"].concat();
    for name in ["s", ""] {
        let (parse, bind) = (parse(name), bind(name));
        here.client(1, &[(b'P', &parse), (b'B', &bind), (b'E', b"\0\0\0\0\0"), (b'S', b"")]);
        here.server(2, &[(b'1', b""), (b'2', b""), (b'C', b"SELECT 1\0"), IDLE]);
    }
    here.client(3, &[(b'Q', b"select 1\0")]);
    here.server(4, &[(b'C', b"SELECT 1\0"), IDLE]);
    let taken = here.queue.taken();
    let once: Vec<_> = taken.iter().map(|each| each.once).collect();
    assert_eq!(once, [Some(true), Some(false), None]);
    assert_eq!(taken[0].parameters, Some(vec![Parameter::Integer(7), Parameter::Null]));
    let mut lines = dbdyno_reports::Lines::default();
    lines.execution(&taken[0]).unwrap();
    let shown = String::from_utf8(lines.bytes).unwrap();
    assert!(shown.contains(r#","select $1, $2",[],[23,0]]"#), "{shown}");
}

#[test]
fn after_an_error_the_rest_is_skipped_until_the_next_sync() {
    let mut here = Connection::new();
    here.client(
        1,
        &[
            (b'P', b"s\0select 1\0\0\0"),
            (b'B', NO_PARAMETERS),
            (b'E', b"\0\0\0\0\0"),
        ],
    );
    here.server(2, &[(b'E', b"SERROR\0C42P01\0\0")]);
    // The server doesn't answer these.
    here.client(3, &[(b'P', b"s\0select 2\0\0\0"), (b'B', NO_PARAMETERS), (b'S', b"")]);
    here.server(4, &[IDLE]);
    here.client(5, &[(b'Q', b"select 3\0")]);
    here.server(6, &[(b'C', b"SELECT 1\0"), IDLE]);
    assert_eq!(
        here.seen(),
        [
            seen("select 1", 1, 2, 0, Some("42P01")),
            seen("select 3", 5, 6, 1, None)
        ]
    );
}

#[test]
fn rows_that_are_fetched_in_parts_are_one_execution() {
    let mut here = Connection::new();
    here.client(
        1,
        &[
            (b'P', b"s\0select 1\0\0\0"),
            (b'B', b"p\0s\0\0\0\0\0\0\0"),
            (b'E', b"p\0\0\0\0\x02"),
            (b'S', b""),
        ],
    );
    here.server(
        2,
        &[
            (b'1', b""),
            (b'2', b""),
            (b'D', b""),
            (b'D', b""),
            (b's', b""),
            (b'Z', b"T"),
        ],
    );
    here.client(3, &[(b'E', b"p\0\0\0\0\x02"), (b'S', b"")]);
    here.server(4, &[(b'D', b""), (b'C', b"SELECT 1\0"), IDLE]);
    assert_eq!(here.seen(), [seen("select 1", 1, 4, 3, None)]);
}

#[test]
fn data_of_copy_are_no_statements() {
    let mut here = Connection::new();
    here.client(1, &[(b'B', NO_PARAMETERS), (b'E', b"\0\0\0\0\0"), (b'S', b"")]);
    here.server(2, &[(b'2', b""), (b'G', b"\0\0\0")]);
    here.client(3, &[(b'd', b"Q\0\0\0\x05x"), (b'c', b""), (b'S', b"")]);
    here.server(4, &[(b'C', b"COPY 1\0"), IDLE]);
    here.client(5, &[(b'Q', b"select 3\0")]);
    here.server(6, &[(b'C', b"SELECT 1\0"), IDLE]);
    assert_eq!(here.seen(), [seen("?", 1, 4, 1, None), seen("select 3", 5, 6, 1, None)]);
}

#[test]
fn a_statement_that_could_not_be_prepared_is_not_known_by_its_name() {
    let mut here = Connection::new();
    here.client(1, &[(b'P', b"s\0select 1\0\0\0"), (b'S', b"")]);
    here.server(2, &[(b'1', b""), IDLE]);
    here.client(3, &[(b'P', b"s\0select 2\0\0\0"), (b'S', b"")]);
    here.server(4, &[(b'E', b"C42P05\0\0"), IDLE]);
    here.client(5, &[(b'B', NO_PARAMETERS), (b'E', b"\0\0\0\0\0"), (b'S', b"")]);
    here.server(6, &[(b'2', b""), (b'C', b"SELECT 1\0"), IDLE]);
    assert_eq!(
        here.seen(),
        [
            seen("select 2", 3, 4, 0, Some("42P05")),
            seen("select 1", 5, 6, 1, None)
        ]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_messages_are_read_or_refused(
        messages in prop::collection::vec(
            (any::<bool>(), prop::sample::select(b"123ABCDEFGHINQPSTWZcdfnpst".to_vec()),
             prop::collection::vec(prop::sample::select(vec![0_u8, 1, 2, 83, 80, 255]), 0..24)), 0..40),
    ) {
        let mut here = Connection::new();
        for (number, (is_client, mark, body)) in messages.iter().enumerate() {
            let message = [(*mark, &body[..])];
            if *is_client {
                here.client(number as u64, &message);
            } else {
                here.server(number as u64, &message);
            }
        }
        here.parser.end();
        for (_, start, end, ..) in here.seen() {
            prop_assert!(start <= end);
        }
    }
}
