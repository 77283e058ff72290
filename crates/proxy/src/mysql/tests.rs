use super::*;
use crate::queue::Queue;
use dbdyno_reports::Texts;
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;

/// An execution's statement, rows and error, and whether a transaction was open afterwards.
type Seen = (String, Option<u64>, Option<String>, Option<bool>);

struct Connection {
    parser: Mysql,
    queue: Arc<Queue>,
}

impl Connection {
    fn new(agreed: Agreed) -> Self {
        let queue = Arc::new(Queue::new(1, 1 << 20));
        let reporter = Reporter::new(Arc::clone(&queue), 0, Rc::new(RefCell::new(Texts::default())), 1);
        Self {
            parser: Mysql::new(reporter, agreed),
            queue,
        }
    }

    fn client(&mut self, packets: &[&[u8]]) {
        self.parser.client_sent(&framed(0, packets), 1);
    }

    fn server(&mut self, packets: &[&[u8]]) {
        self.parser.server_sent(&framed(1, packets), 2);
    }

    fn seen(&mut self) -> Vec<Seen> {
        let taken = self.queue.taken();
        let seen = taken.iter().map(|each| {
            let text = each.text.shown().unwrap_or("?").to_owned();
            (text, each.rows, each.error.as_deref().map(str::to_owned), each.open)
        });
        seen.collect()
    }
}

fn framed(first: u8, packets: &[&[u8]]) -> Vec<u8> {
    let mut made = Vec::new();
    for (number, body) in packets.iter().enumerate() {
        made.extend(&(body.len() as u32).to_le_bytes()[..3]);
        made.push(first.wrapping_add(number as u8));
        made.extend(*body);
    }
    made
}

fn seen(text: &str, rows: u64, error: Option<&str>, open: Option<bool>) -> Seen {
    (text.into(), Some(rows), error.map(str::to_owned), open)
}

const MODERN: Agreed = Agreed {
    deprecates_eof: true,
    query_attributes: false,
    optional_metadata: false,
    cached_metadata: false,
};

const CLASSIC: Agreed = Agreed {
    deprecates_eof: false,
    ..MODERN
};

const OPEN: &[u8] = &[0, 3, 0, 1, 0, 0, 0];

#[test]
fn rows_end_with_an_eof_packet_or_with_an_ok_packet() {
    let mut classic = Connection::new(CLASSIC);
    classic.client(&[b"\x03select 1"]);
    classic.server(&[
        &[1],
        b"column",
        &[0xfe, 0, 0, 2, 0],
        b"row",
        b"row",
        &[0xfe, 0, 0, 2, 0],
    ]);
    assert_eq!(classic.seen(), [seen("select 1", 2, None, Some(false))]);
    let mut modern = Connection::new(MODERN);
    modern.client(&[b"\x03select 1"]);
    modern.server(&[&[1], b"column", b"row", b"row", &[0xfe, 0, 0, 1, 0, 0, 0]]);
    assert_eq!(modern.seen(), [seen("select 1", 2, None, Some(true))]);
}

#[test]
fn results_of_several_statements_are_one_execution() {
    let mut here = Connection::new(CLASSIC);
    here.client(&[b"\x03update t; select 1; x"]);
    here.server(&[
        &[0, 5, 0, 8, 0, 0, 0],
        &[1],
        b"column",
        &[0xfe, 0, 0, 2, 0],
        b"row",
        &[0xfe, 0, 0, 8, 0],
    ]);
    here.server(&[&[0xff, 0x28, 4, b'#']]);
    assert_eq!(here.seen(), [seen("update t; select 1; x", 6, Some("1064"), None)]);
}

#[test]
fn a_prepared_statement_is_known_by_its_number() {
    let mut here = Connection::new(CLASSIC);
    here.client(&[b"\x16select ?"]);
    let ended: &[u8] = &[0xfe, 0, 0, 2, 0];
    here.server(&[
        &[0, 7, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0],
        b"parameter",
        ended,
        b"column",
        ended,
    ]);
    here.client(&[&[0x17, 7, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 9]]);
    here.server(&[&[1], b"column", ended, &[0, 0, 9], ended]);
    let taken = here.queue.taken();
    assert_eq!(taken[0].text.shown(), Some("select ?"));
    assert_eq!(taken[0].parameters, Some(vec![Parameter::Integer(9)]));
    assert_eq!(taken[0].once, Some(false));
    // Its types were sent before.
    here.client(&[&[0x17, 7, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 8]]);
    here.server(&[&[1], b"column", ended, &[0, 0, 8], ended]);
    let taken = here.queue.taken();
    assert_eq!(taken[0].parameters, Some(vec![Parameter::Integer(8)]));
    assert_eq!(taken[0].once, Some(true));
    here.client(&[&[0x19, 7, 0, 0, 0]]);
    here.client(&[&[0x17, 7, 0, 0, 0, 0, 1, 0, 0, 0, 0]]);
    here.server(&[OPEN]);
    assert_eq!(here.seen(), [seen("?", 3, None, Some(true))]);
}

#[test]
fn a_file_is_no_statement() {
    let mut here = Connection::new(MODERN);
    here.client(&[b"\x03load data"]);
    here.server(&[b"\xfbfile"]);
    // A packet of a long file may have the number of a command.
    here.parser.client_sent(&framed(0, &[b"\x03select secret"]), 3);
    here.parser.client_sent(&framed(1, &[b""]), 3);
    here.server(&[OPEN]);
    here.client(&[b"\x03select 2"]);
    here.server(&[OPEN]);
    assert_eq!(
        here.seen(),
        [
            seen("load data", 3, None, Some(true)),
            seen("select 2", 3, None, Some(true))
        ]
    );
}

#[test]
fn a_change_of_the_user_is_no_statement() {
    let mut here = Connection::new(MODERN);
    here.client(&[b"\x11me\0secret"]);
    here.server(&[b"\xfeplugin\0"]);
    here.parser.client_sent(&framed(3, &[b"\x03secret"]), 3);
    here.server(&[OPEN]);
    here.client(&[b"\x0e"]);
    here.server(&[OPEN]);
    assert_eq!(here.seen(), []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_packets_are_read_or_refused(
        agreed in any::<[bool; 4]>(),
        packets in prop::collection::vec(
            (any::<bool>(), prop::sample::select(vec![0_u8, 1, 2]), prop::collection::vec(
                prop::sample::select(vec![0_u8, 1, 3, 7, 8, 0x16, 0x17, 0x18, 0x1c, 0xfa, 0xfb, 0xfe, 0xff]), 0..24)),
            0..40),
    ) {
        let [deprecates_eof, query_attributes, optional_metadata, cached_metadata] = agreed;
        let mut here = Connection::new(Agreed {
            deprecates_eof, query_attributes, optional_metadata, cached_metadata,
        });
        for (now, (is_client, number, body)) in packets.iter().enumerate() {
            let packet = framed(*number, &[body]);
            if *is_client {
                here.parser.client_sent(&packet, now as u64);
            } else {
                here.parser.server_sent(&packet, now as u64);
            }
        }
        for each in here.queue.taken() {
            prop_assert!(each.start <= each.end);
        }
    }
}
