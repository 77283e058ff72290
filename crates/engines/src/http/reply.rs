//! The head of a reply in HTTP/1.1, and how long its body is (RFC 9112).

use dbdyno_engine::Failure;
use dbdyno_protocol::plan::document::FailureKind;
use httparse::{EMPTY_HEADER, Response, Status};
use std::mem::MaybeUninit;

/// More header fields than this, and longer heads, no service sends that means well.
const MOST_FIELDS: usize = 128;
const LONGEST: usize = 256 * 1024;

/// The head of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The status.
    pub status: u16,
    /// How many bytes the head has.
    pub length: usize,
    /// What follows.
    pub body: Body,
    /// Whether the connection ends with the reply.
    pub closes: bool,
}

/// How the end of a body is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// A body with this length.
    Length(u64),
    /// It comes in chunks, each with its length.
    Chunked,
    /// It ends with the connection.
    UntilEnd,
}

/// Parses the head of a reply if it has arrived completely. `is_head`: the request's method was HEAD. `field`: is given
/// the status, and name and value of each field.
#[inline]
pub fn head(bytes: &[u8], is_head: bool, mut field: impl FnMut(u16, &str, &[u8])) -> Result<Option<Head>, Failure> {
    let mut fields = [const { MaybeUninit::uninit() }; MOST_FIELDS];
    let mut none = [EMPTY_HEADER; 0];
    let mut reply = Response::new(&mut none);
    let config = httparse::ParserConfig::default();
    let length = match config.parse_response_with_uninit_headers(&mut reply, bytes, &mut fields) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) if bytes.len() > LONGEST => return Err(garbled("a head without an end")),
        Ok(Status::Partial) => return Ok(None),
        Err(error) => return Err(garbled(&error.to_string())),
    };
    let status = reply.code.unwrap_or_default();
    // Of HTTP/1.0, a connection ends unless it is said otherwise.
    let mut closes = reply.version == Some(0);
    let (mut told, mut chunked, mut coded) = (None, false, false);
    for each in reply.headers.iter() {
        match each.name.len() {
            14 if each.name.eq_ignore_ascii_case("content-length") => {
                let length = number(each.value).ok_or_else(|| garbled("an invalid length"))?;
                if told.is_some_and(|before| before != length) {
                    return Err(garbled("two lengths that differ"));
                }
                told = Some(length);
            }
            17 if each.name.eq_ignore_ascii_case("transfer-encoding") => {
                coded = true;
                chunked = words(each.value)
                    .last()
                    .is_some_and(|last| last.eq_ignore_ascii_case(b"chunked"));
            }
            10 if each.name.eq_ignore_ascii_case("connection") => {
                for word in words(each.value) {
                    if word.eq_ignore_ascii_case(b"close") {
                        closes = true;
                    } else if word.eq_ignore_ascii_case(b"keep-alive") {
                        closes = false;
                    }
                }
            }
            _ => {}
        }
        field(status, each.name, each.value);
    }
    let body = match status {
        _ if is_head => Body::Length(0),
        100..200 | 204 | 304 => Body::Length(0),
        _ if chunked => Body::Chunked,
        _ if coded => Body::UntilEnd,
        _ => told.map_or(Body::UntilEnd, Body::Length),
    };
    Ok(Some(Head {
        status,
        length,
        body,
        closes: closes || body == Body::UntilEnd,
    }))
}

fn number(value: &[u8]) -> Option<u64> {
    // Some services send the length twice, in one list.
    let mut all = words(value).map(|word| {
        let digits = word.iter().all(u8::is_ascii_digit).then_some(word)?;
        std::str::from_utf8(digits).ok()?.parse::<u64>().ok()
    });
    let first = all.next()??;
    all.all(|other| other == Some(first)).then_some(first)
}

fn words(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

/// The failure for a peer that does not speak HTTP.
#[cold]
pub fn garbled(what: &str) -> Failure {
    let message = format!(
        "the server sent something that is not a valid HTTP/1.1 reply: {}",
        what.to_lowercase()
    );
    Failure::new(FailureKind::Connection, message)
}

/// Parses a body in chunks, in as many reads as it takes (RFC 9112, 7.1).
#[derive(Debug, Clone, Copy, Default)]
pub struct Chunks {
    state: State,
    /// The length of the chunk so far; later, the number of bytes left in it.
    left: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// The first digit of a length.
    #[default]
    Begin,
    Size,
    /// An extension after a length.
    Extension,
    /// The end of the line with the length.
    SizeEnd,
    Data,
    DataReturn,
    DataEnd,
    /// The beginning of a line after the last chunk.
    Trailer,
    /// Within such a line.
    Field,
    /// The end of the empty line.
    Last,
    Over,
}

impl Chunks {
    /// Parses more bytes. Returns how many belong to the body, and whether it has ended. `data` receives the contents.
    pub fn read(&mut self, bytes: &[u8], mut data: impl FnMut(&[u8])) -> Result<(usize, bool), Failure> {
        let mut at = 0;
        while self.state != State::Over {
            let Some(byte) = bytes.get(at).copied() else {
                return Ok((at, false));
            };
            if self.state == State::Data {
                let there = (bytes.len() - at) as u64;
                let part = self.left.min(there) as usize;
                data(&bytes[at..at + part]);
                at += part;
                self.left -= part as u64;
                if self.left == 0 {
                    self.state = State::DataReturn;
                }
                continue;
            }
            at += 1;
            self.state = self.next(byte)?;
        }
        Ok((at, true))
    }

    fn next(&mut self, byte: u8) -> Result<State, Failure> {
        let wrong = || garbled("a chunk without a length");
        Ok(match (self.state, byte) {
            (State::Begin | State::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                let digit = u64::from((byte as char).to_digit(16).unwrap_or_default());
                let length = self.left.checked_mul(16).and_then(|length| length.checked_add(digit));
                self.left = length.ok_or_else(wrong)?;
                State::Size
            }
            (State::Size, b';' | b' ' | b'\t') => State::Extension,
            (State::Size | State::Extension, b'\r') => State::SizeEnd,
            (State::Extension, byte) if byte != b'\n' => State::Extension,
            (State::Size | State::Extension | State::SizeEnd, b'\n') => {
                if self.left == 0 {
                    State::Trailer
                } else {
                    State::Data
                }
            }
            (State::DataReturn, b'\r') => State::DataEnd,
            (State::DataReturn | State::DataEnd, b'\n') => State::Begin,
            (State::Trailer, b'\r') => State::Last,
            (State::Trailer | State::Last, b'\n') => State::Over,
            (State::Field, b'\n') => State::Trailer,
            (State::Trailer | State::Field, _) => State::Field,
            _ => return Err(wrong()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Parses a reply that arrives in several reads: status, body, whether the connection closes, bytes consumed.
    fn read(bytes: &[u8], cuts: &[usize], is_head: bool) -> Result<(u16, Vec<u8>, bool, usize), Failure> {
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
        ends.push(bytes.len());
        ends.sort_unstable();
        let (mut there, mut taken, mut body) = (0, 0, Vec::new());
        let mut found: Option<Head> = None;
        let mut chunks = Chunks::default();
        let mut ends = ends.into_iter();
        loop {
            let head = match found {
                Some(head) => head,
                None => match head(&bytes[taken..there], is_head, |_, _, _| {})? {
                    Some(head) => {
                        taken += head.length;
                        found = (head.status >= 200).then_some(head);
                        continue;
                    }
                    None => {
                        there = ends.next().ok_or_else(|| garbled("too short"))?;
                        continue;
                    }
                },
            };
            let now = &bytes[taken..there];
            let over = match head.body {
                Body::Length(length) => {
                    let part = now.len().min((length - body.len() as u64) as usize);
                    body.extend_from_slice(&now[..part]);
                    taken += part;
                    body.len() as u64 == length
                }
                Body::Chunked => {
                    let (part, over) = chunks.read(now, |data| body.extend_from_slice(data))?;
                    taken += part;
                    over
                }
                Body::UntilEnd => {
                    body.extend_from_slice(now);
                    taken += now.len();
                    taken == bytes.len()
                }
            };
            if over {
                return Ok((head.status, body, head.closes, taken));
            }
            there = ends.next().ok_or_else(|| garbled("too short"))?;
        }
    }

    fn chunked(body: &[u8], lengths: &[usize], extension: &str, trailer: &str) -> Vec<u8> {
        let (mut out, mut rest) = (Vec::new(), body);
        for length in lengths {
            let (chunk, after) = rest.split_at((*length).min(rest.len()));
            rest = after;
            if !chunk.is_empty() {
                out.extend(format!("{:X}{extension}\r\n", chunk.len()).bytes());
                out.extend_from_slice(chunk);
                out.extend(b"\r\n");
            }
        }
        if !rest.is_empty() {
            out.extend(format!("{:x}\r\n", rest.len()).bytes());
            out.extend_from_slice(rest);
            out.extend(b"\r\n");
        }
        out.extend(format!("0\r\n{trailer}\r\n").bytes());
        out
    }

    proptest! {
        #[test]
        fn a_body_is_the_same_wherever_it_is_cut(
            body in proptest::collection::vec(any::<u8>(), 0..200),
            lengths in proptest::collection::vec(1usize..50, 0..8),
            cuts in proptest::collection::vec(any::<usize>(), 0..12),
            informed in 0usize..3,
            extension in prop_oneof![Just(""), Just(";a=b"), Just(" ; x=\"y\"")],
            trailer in prop_oneof![Just(""), Just("x-sum: 1\r\n"), Just("a: b\r\nc: d\r\n")],
            more in proptest::collection::vec(any::<u8>(), 0..20),
        ) {
            let before = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n".repeat(informed);
            let by_length = [
                format!("{before}HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes(),
                body.clone(),
            ].concat();
            let in_chunks = [
                format!("{before}HTTP/1.1 201 Created\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n").into_bytes(),
                chunked(&body, &lengths, extension, trailer),
            ].concat();
            let to_the_end = [
                format!("{before}HTTP/1.0 404 No\r\nserver: x\r\n\r\n").into_bytes(),
                body.clone(),
            ].concat();
            for (reply, status, closes, ends) in [
                (by_length, 200, false, true), (in_chunks, 201, false, true), (to_the_end, 404, true, false),
            ] {
                let length = reply.len();
                // The bytes after it belong to another reply.
                let bytes = if ends { [reply, more.clone()].concat() } else { reply };
                let seen = read(&bytes, &cuts, false).expect("a reply");
                prop_assert_eq!(seen, (status, body.clone(), closes, length));
            }
        }

        #[test]
        fn what_is_no_reply_ends_in_words(bytes in proptest::collection::vec(any::<u8>(), 0..100), cuts in proptest::collection::vec(any::<usize>(), 0..5)) {
            let told = read(&bytes, &cuts, false);
            if let Err(failure) = told {
                prop_assert!(failure.message.contains("not a valid HTTP/1.1 reply"), "{}", failure);
            }
            let head = [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".as_slice(), &bytes].concat();
            let _ = read(&head, &cuts, false);
        }
    }

    fn of(text: &str) -> Head {
        head(text.as_bytes(), false, |_, _, _| {}).unwrap().unwrap()
    }

    #[test]
    fn some_replies_have_no_body() {
        for status in [204, 304] {
            let text = format!("HTTP/1.1 {status} X\r\nContent-Length: 5\r\n\r\n");
            assert_eq!(of(&text).body, Body::Length(0), "{status}");
        }
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n";
        let seen = head(text, true, |_, _, _| {}).unwrap().unwrap();
        assert_eq!((seen.body, seen.closes), (Body::Length(0), false));
    }

    #[test]
    fn a_connection_is_kept_or_not() {
        for (text, closes) in [
            ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", false),
            (
                "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nConnection: foo, Close\r\n\r\n",
                true,
            ),
            ("HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n", true),
            (
                "HTTP/1.0 200 OK\r\ncontent-length: 0\r\nconnection: keep-alive\r\n\r\n",
                false,
            ),
            ("HTTP/1.1 200 OK\r\n\r\n", true),
        ] {
            assert_eq!(of(text).closes, closes, "{text}");
        }
    }

    #[test]
    fn chunks_go_before_a_length_and_lengths_must_agree() {
        let both = "HTTP/1.1 200 OK\r\ncontent-length: 7\r\ntransfer-encoding: chunked\r\n\r\n";
        assert_eq!(of(both).body, Body::Chunked);
        assert_eq!(
            of("HTTP/1.1 200 OK\r\ncontent-length: 7, 7\r\n\r\n").body,
            Body::Length(7)
        );
        for wrong in [
            "HTTP/1.1 200 OK\r\ncontent-length: 7\r\ncontent-length: 8\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: -7\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999999\r\n\r\n",
            "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        ] {
            assert!(head(wrong.as_bytes(), false, |_, _, _| {}).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_chunk_longer_than_any_number_is_refused() {
        let mut chunks = Chunks::default();
        assert!(chunks.read(b"fffffffffffffffff\r\n", |_| {}).is_err());
        assert!(Chunks::default().read(b"\r\n", |_| {}).is_err());
        assert!(Chunks::default().read(b"2\r\nabc", |_| {}).is_err());
    }

    #[test]
    fn fields_are_given_with_the_status() {
        let mut seen = Vec::new();
        head(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n", false, |status, name, value| {
            seen.push((status, name.to_owned(), value.to_vec()));
        })
        .unwrap();
        assert_eq!(seen, [(200, "A".to_owned(), b"b".to_vec())]);
    }
}
