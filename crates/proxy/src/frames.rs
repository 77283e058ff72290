//! Splits a stream of bytes into the messages of a protocol, and copies only messages that arrive in parts.

/// The stream contains something else than messages of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Garbled;

/// How a protocol frames its messages.
pub trait Framing {
    /// Bytes of a head, at most 5.
    const HEAD: usize;

    /// Reads a head: the message's mark (its type, or its sequence number), and the length of its body.
    fn read(head: &[u8]) -> Result<(u8, usize), Garbled>;
}

/// A message. `body` has the first bytes that were wanted of it.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// Its type or sequence number.
    pub mark: u8,
    /// The beginning of its body.
    pub body: &'a [u8],
    /// Length of its whole body.
    pub length: usize,
}

/// Takes messages.
pub trait Receiver {
    /// How many bytes of a message's body are wanted.
    fn wanted(&mut self, mark: u8, length: usize) -> usize;

    /// Takes a message.
    fn take(&mut self, message: Message<'_>) -> Result<(), Garbled>;
}

/// The state between two reads.
#[derive(Debug)]
pub struct Frames {
    head: [u8; 5],
    have: usize,
    /// The message whose body is incomplete: its mark and its length.
    current: Option<(u8, usize)>,
    missing: usize,
    wanted: usize,
    kept: Vec<u8>,
}

/// A buffer that is larger than this isn't kept between messages.
const LARGE: usize = 4096;

impl Frames {
    /// The beginning of a stream.
    pub const fn new() -> Self {
        Self {
            head: [0; 5],
            have: 0,
            current: None,
            missing: 0,
            wanted: 0,
            kept: Vec::new(),
        }
    }

    /// Reads what has arrived.
    pub fn read<F: Framing>(&mut self, mut bytes: &[u8], receiver: &mut impl Receiver) -> Result<(), Garbled> {
        while !bytes.is_empty() {
            let Some((mark, length)) = self.current else {
                bytes = self.begin::<F>(bytes, receiver)?;
                continue;
            };
            let (part, rest) = bytes.split_at(self.missing.min(bytes.len()));
            let room = self.wanted - self.kept.len();
            self.kept.extend_from_slice(&part[..room.min(part.len())]);
            self.missing -= part.len();
            bytes = rest;
            if self.missing == 0 {
                self.current = None;
                let body = std::mem::take(&mut self.kept);
                receiver.take(Message {
                    mark,
                    body: &body,
                    length,
                })?;
                if body.capacity() <= LARGE {
                    self.kept = body;
                    self.kept.clear();
                }
            }
        }
        Ok(())
    }

    /// Reads a head, and the message if all of it is here.
    fn begin<'a, F: Framing>(&mut self, bytes: &'a [u8], receiver: &mut impl Receiver) -> Result<&'a [u8], Garbled> {
        let (part, rest) = bytes.split_at((F::HEAD - self.have).min(bytes.len()));
        self.head[self.have..self.have + part.len()].copy_from_slice(part);
        self.have += part.len();
        if self.have < F::HEAD {
            return Ok(rest);
        }
        self.have = 0;
        let (mark, length) = F::read(&self.head[..F::HEAD])?;
        let wanted = receiver.wanted(mark, length).min(length);
        if rest.len() >= length {
            let (body, rest) = rest.split_at(length);
            receiver.take(Message {
                mark,
                body: &body[..wanted],
                length,
            })?;
            return Ok(rest);
        }
        self.current = Some((mark, length));
        (self.missing, self.wanted) = (length, wanted);
        Ok(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::Packets;
    use crate::postgresql::Messages;
    use proptest::prelude::*;

    #[derive(Default)]
    struct All(Vec<(u8, Vec<u8>, usize)>, usize);

    impl Receiver for All {
        fn wanted(&mut self, _mark: u8, _length: usize) -> usize {
            self.1
        }

        fn take(&mut self, message: Message<'_>) -> Result<(), Garbled> {
            self.0.push((message.mark, message.body.to_vec(), message.length));
            Ok(())
        }
    }

    proptest! {
        #[test]
        fn messages_are_the_same_however_they_arrive(
            bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..8),
            size in 1_usize..60, wanted in 0_usize..50,
        ) {
            let (mut postgresql, mut mysql) = (Vec::new(), Vec::new());
            for body in &bodies {
                postgresql.push(b'Q');
                postgresql.extend((body.len() as u32 + 4).to_be_bytes());
                postgresql.extend(body);
                mysql.extend(&(body.len() as u32).to_le_bytes()[..3]);
                mysql.push(b'Q');
                mysql.extend(body);
            }
            let expected: Vec<_> =
                bodies.iter().map(|body| (b'Q', body[..wanted.min(body.len())].to_vec(), body.len())).collect();
            let (mut first, mut second) = (All(Vec::new(), wanted), All(Vec::new(), wanted));
            let (mut frames, mut packets) = (Frames::new(), Frames::new());
            for chunk in postgresql.chunks(size) {
                frames.read::<Messages>(chunk, &mut first).unwrap();
            }
            for chunk in mysql.chunks(size) {
                packets.read::<Packets>(chunk, &mut second).unwrap();
            }
            prop_assert_eq!(&first.0, &expected);
            prop_assert_eq!(&second.0, &expected);
        }
    }

    #[test]
    fn a_length_that_does_not_include_itself_is_refused() {
        let mut all = All(Vec::new(), 9);
        assert_eq!(
            Frames::new().read::<Messages>(&[b'Q', 0, 0, 0, 3], &mut all),
            Err(Garbled)
        );
    }
}
