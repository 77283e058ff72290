//! Packets in both directions ("MySQL Packets"): a length of three bytes, a sequence number, and a payload. A payload
//! that is too long for one packet continues in the next.

use super::kind;
use crate::server::net::{self, Connection, too_long};
use bytes::{Buf as _, BufMut as _, BytesMut};
use dbdyno_engine::Failure;
use dbdyno_protocol::plan::document::FailureKind;
use std::ops::Range;

/// A packet of this length is followed by another one with the same payload.
const LONGEST: usize = 0xff_ff_ff;

const HEAD: usize = 4;

/// A connection to a server.
pub struct Wire {
    pub connection: Connection,
    /// The sequence number of the next packet to send.
    number: u8,
    /// Whether rows end with an OK packet and columns with nothing, or both with an EOF packet.
    pub deprecates_eof: bool,
    /// Maximum payload size that the server may announce, in bytes.
    pub longest: usize,
}

impl Wire {
    /// Frames packets on a connection.
    pub fn new(connection: Connection) -> Self {
        Self {
            connection,
            number: 0,
            deprecates_eof: false,
            longest: net::LONGEST_AT_LOGIN,
        }
    }

    /// Begins the packet of a new command. Append its payload to `connection.out`, then call [`Self::end`].
    #[inline]
    pub fn begin(&mut self) -> usize {
        self.number = 0;
        self.go_on()
    }

    /// Begins a packet that responds to one of the server's.
    #[inline]
    pub fn go_on(&mut self) -> usize {
        let start = self.connection.out.len();
        self.connection.out.put_u32(0);
        start
    }

    /// Ends the packet that begins at `start`.
    #[inline]
    pub fn end(&mut self, start: usize) {
        let length = self.connection.out.len() - start - HEAD;
        if length >= LONGEST {
            return self.end_long(start);
        }
        let head = (length as u32) | u32::from(self.number) << 24;
        self.connection.out[start..start + HEAD].copy_from_slice(&head.to_le_bytes());
        self.number = self.number.wrapping_add(1);
    }

    #[cold]
    fn end_long(&mut self, start: usize) {
        let payload = self.connection.out.split_off(start).split_off(HEAD);
        let mut rest = payload.as_ref();
        loop {
            let length = rest.len().min(LONGEST);
            self.connection.out.put_uint_le(length as u64, 3);
            self.connection.out.put_u8(self.number);
            self.connection.out.put_slice(&rest[..length]);
            self.number = self.number.wrapping_add(1);
            rest = &rest[length..];
            // A payload that exactly fills its last packet is followed by an empty one.
            if length < LONGEST {
                return;
            }
        }
    }

    /// Writes a command of one byte and a text.
    #[inline]
    pub fn command(&mut self, command: u8, text: &[u8]) {
        let start = self.begin();
        self.connection.out.put_u8(command);
        self.connection.out.put_slice(text);
        self.end(start);
    }

    /// The position of the next payload, for [`Self::body`]. It stays valid until the next call.
    #[inline]
    pub async fn packet(&mut self) -> Result<Range<usize>, Failure> {
        loop {
            if let Some(place) = self.take()? {
                return Ok(place);
            }
            self.connection.read().await?;
        }
    }

    /// A payload.
    #[inline(always)]
    pub fn body(&self, place: &Range<usize>) -> &[u8] {
        self.connection.taken(place.clone())
    }

    #[inline]
    fn take(&mut self) -> Result<Option<Range<usize>>, Failure> {
        let there = self.connection.there();
        let Some((head, rest)) = there.split_first_chunk::<HEAD>() else {
            return Ok(None);
        };
        let (length, number) = heading(*head);
        if length > self.longest {
            return Err(too_long(length, self.longest));
        }
        if length == LONGEST {
            return self.take_long();
        }
        if rest.len() < length {
            return Ok(None);
        }
        self.number = number.wrapping_add(1);
        let mut place = self.connection.take(HEAD + length);
        place.start += HEAD;
        Ok(Some(place))
    }

    /// Joins a payload of several packets once all of them have arrived.
    #[cold]
    fn take_long(&mut self) -> Result<Option<Range<usize>>, Failure> {
        let there = self.connection.there();
        let (mut packets, mut end) = (Vec::new(), 0);
        let number = loop {
            let Some((head, rest)) = there.get(end..).and_then(|rest| rest.split_first_chunk::<HEAD>()) else {
                return Ok(None);
            };
            let (length, number) = heading(*head);
            if end + length > self.longest {
                return Err(too_long(end + length, self.longest));
            }
            if rest.len() < length {
                return Ok(None);
            }
            packets.push(end + HEAD..end + HEAD + length);
            end += HEAD + length;
            if length < LONGEST {
                break number;
            }
        };
        let there = self.connection.there_mut();
        let mut joined = HEAD;
        for packet in packets {
            let length = packet.len();
            there.copy_within(packet, joined);
            joined += length;
        }
        self.number = number.wrapping_add(1);
        let place = self.connection.take(end);
        Ok(Some(place.start + HEAD..place.start + joined))
    }
}

fn heading(head: [u8; HEAD]) -> (usize, u8) {
    let word = u32::from_le_bytes(head);
    ((word & LONGEST as u32) as usize, (word >> 24) as u8)
}

/// Reads an integer of one to nine bytes from the front of a payload.
#[inline]
pub fn number(body: &mut &[u8]) -> Result<u64, Failure> {
    let (first, rest) = body.split_first().ok_or_else(garbled)?;
    *body = rest;
    let bytes = match first {
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        // Null or the start of an error, which are not integers.
        0xfb | 0xff => return Err(garbled()),
        small => return Ok(u64::from(*small)),
    };
    if body.len() < bytes {
        return Err(garbled());
    }
    Ok(body.get_uint_le(bytes))
}

/// Reads length-prefixed bytes from the front of a payload.
#[inline]
pub fn counted<'a>(body: &mut &'a [u8]) -> Result<&'a [u8], Failure> {
    let length = usize::try_from(number(body)?).map_err(|_| garbled())?;
    let (field, rest) = body.split_at_checked(length).ok_or_else(garbled)?;
    *body = rest;
    Ok(field)
}

/// Writes an integer in the format of [`number`].
#[inline]
pub fn put_number(value: u64, out: &mut BytesMut) {
    match value {
        0..=0xfa => out.put_u8(value as u8),
        0xfb..=0xffff => {
            out.put_u8(0xfc);
            out.put_u16_le(value as u16);
        }
        0x1_0000..=0xff_ffff => {
            out.put_u8(0xfd);
            out.put_uint_le(value, 3);
        }
        _ => {
            out.put_u8(0xfe);
            out.put_u64_le(value);
        }
    }
}

/// The contents of an OK packet.
#[derive(Debug, Clone, Copy)]
pub struct Done {
    /// Rows changed or matched.
    pub changed: u64,
    /// The server's status flags.
    pub status: u16,
    /// Warnings.
    pub warnings: u16,
}

/// Reads an OK packet.
#[inline]
pub fn ok(body: &[u8]) -> Result<Done, Failure> {
    let mut rest = body.get(1..).ok_or_else(garbled)?;
    let changed = number(&mut rest)?;
    let _inserted = number(&mut rest)?;
    let [a, b, c, d, ..] = rest else {
        return Err(garbled());
    };
    Ok(Done {
        changed,
        status: u16::from_le_bytes([*a, *b]),
        warnings: u16::from_le_bytes([*c, *d]),
    })
}

/// The failure in an error packet, with its number and SQLSTATE.
#[cold]
pub fn error(body: &[u8]) -> Failure {
    let Some((number, rest)) = body.get(1..).and_then(|body| body.split_first_chunk::<2>()) else {
        return garbled();
    };
    let number = u16::from_le_bytes(*number);
    // Before the client has sent its capabilities, there is no SQLSTATE.
    let (state, text) = match rest.split_first_chunk::<6>() {
        Some(([b'#', state @ ..], text)) => (std::str::from_utf8(state).unwrap_or(""), text),
        _ => ("", rest),
    };
    let text = String::from_utf8_lossy(text);
    let code = if state.is_empty() {
        number.to_string()
    } else {
        format!("{number}, {state}")
    };
    Failure::new(kind(number, state), format!("{text} ({code})")).coded(number.to_string())
}

#[cold]
pub fn garbled() -> Failure {
    Failure::new(FailureKind::Connection, "the server sent an invalid MySQL packet")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn integers_survive_a_round_trip(value in prop_oneof![0u64..300, 0u64..0x2_0000, any::<u64>()]) {
            let mut out = BytesMut::new();
            put_number(value, &mut out);
            let mut body = out.as_ref();
            prop_assert_eq!(number(&mut body).unwrap(), value);
            prop_assert!(body.is_empty());
        }
    }

    #[test]
    fn truncated_payloads_are_refused() {
        for body in [&[][..], &[0xfc, 1], &[0xfe, 1, 2, 3], &[0xfb], &[0xff]] {
            assert!(number(&mut &*body).is_err());
        }
        assert!(counted(&mut &[3, b'a', b'b'][..]).is_err());
    }

    #[test]
    fn an_error_has_its_number_state_and_message() {
        let failure = error(b"\xff\xbd\x04#40001Deadlock found");
        assert_eq!(failure.kind, FailureKind::Deadlock);
        assert_eq!(failure.message, "Deadlock found (1213, 40001)");
        let failure = error(b"\xff\x10\x04Too many connections");
        assert_eq!(failure.kind, FailureKind::Connection);
        assert_eq!(failure.message, "Too many connections (1040)");
    }

    #[test]
    fn long_payloads_are_split_and_joined() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let echo = std::thread::spawn(move || echo(listener.accept().unwrap().0));
        let work = async {
            let mut wire = Wire::new(Connection::unix(path.to_str().unwrap()).await.unwrap());
            for length in [
                0,
                1,
                LONGEST - 2,
                LONGEST - 1,
                LONGEST,
                2 * LONGEST - 1,
                2 * LONGEST + 5,
            ] {
                let sent: Vec<u8> = (0..length).map(|at| (at / 7) as u8).collect();
                wire.longest = net::LONGEST;
                wire.command(3, &sent);
                wire.connection.flush().await.unwrap();
                let place = wire.packet().await.unwrap();
                let body = wire.body(&place);
                assert!(body[0] == 3 && body[1..] == sent, "{length}");
            }
            Ok(())
        };
        crate::server::net::block_on(work).unwrap();
        echo.join().unwrap();
    }

    /// Sends each payload back in the packets in which it arrived.
    fn echo(mut stream: std::os::unix::net::UnixStream) {
        use std::io::{Read as _, Write as _};
        let mut packets = Vec::new();
        let mut head = [0; HEAD];
        while stream.read_exact(&mut head).is_ok() {
            let (length, _) = heading(head);
            packets.extend_from_slice(&head);
            let start = packets.len();
            packets.resize(start + length, 0);
            stream.read_exact(&mut packets[start..]).unwrap();
            if length < LONGEST {
                stream.write_all(&packets).unwrap();
                packets.clear();
            }
        }
    }
}
