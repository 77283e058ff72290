//! Messages in both directions ("MongoDB Wire Protocol"): OP_MSG, with a command or its response as a document.

use super::target::MongodbTarget;
use super::values::{self, garbled};
use crate::server::net::{Connection, too_long};
use bson::RawDocument;
use bytes::BufMut as _;
use dbdyno_engine::Failure;
use std::ops::Range;

/// Message length, request ID, response-to ID, opcode.
const HEAD: usize = 16;
const OP_MSG: i32 = 2013;

/// Maximum message size according to the servers' own limits, plus a margin.
const LONGEST: usize = 48_000_000 + (1 << 20);

const CHECKSUM_PRESENT: u32 = 1;

/// A connection to a server.
pub struct Wire {
    pub connection: Connection,
    /// The request ID of the last message sent.
    number: i32,
}

impl Wire {
    /// Connects to a server.
    pub async fn connect(target: &MongodbTarget) -> Result<Self, Failure> {
        let connection = if target.host.starts_with('/') {
            Connection::unix(&target.host).await?
        } else {
            Connection::tcp(&target.host, target.port).await?
        };
        Ok(Self { connection, number: 0 })
    }

    /// Begins a message. Append its document to `connection.out`, then call [`Self::end`].
    #[inline]
    pub fn begin(&mut self) -> usize {
        self.number = self.number.wrapping_add(1);
        let out = &mut self.connection.out;
        let start = out.len();
        out.put_i32_le(0);
        out.put_i32_le(self.number);
        out.put_i32_le(0);
        out.put_i32_le(OP_MSG);
        out.put_u32_le(0);
        // A section of kind 0: one document.
        out.put_u8(0);
        start
    }

    /// Ends the message that begins at `start`.
    #[inline]
    pub fn end(&mut self, start: usize) {
        let out = &mut self.connection.out;
        let length = (out.len() - start) as i32;
        out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    }

    /// Discards the message that begins at `start`.
    pub fn forget(&mut self, start: usize) {
        self.connection.out.truncate(start);
    }

    /// Begins a section of kind 1: documents that form an array of the command. [`Self::end_sequence`] ends it.
    pub fn begin_sequence(&mut self, name: &str) -> usize {
        let out = &mut self.connection.out;
        out.put_u8(1);
        let start = out.len();
        out.put_i32_le(0);
        out.put_slice(name.as_bytes());
        out.put_u8(0);
        start
    }

    /// Ends the section that begins at `start`.
    pub fn end_sequence(&mut self, start: usize) {
        self.end(start);
    }

    /// The position of the response to the last message, for [`Self::bytes`]. It stays valid until the next call.
    #[inline]
    pub async fn answer(&mut self) -> Result<Range<usize>, Failure> {
        loop {
            if let Some(place) = self.take()? {
                return Ok(place);
            }
            self.connection.read().await?;
        }
    }

    /// The bytes of a response's document.
    #[inline(always)]
    pub fn bytes(&self, place: &Range<usize>) -> &[u8] {
        self.connection.taken(place.clone())
    }

    /// The document of a response.
    pub fn document(&self, place: &Range<usize>) -> Result<&RawDocument, Failure> {
        values::document(self.bytes(place))
    }

    #[inline]
    fn take(&mut self) -> Result<Option<Range<usize>>, Failure> {
        let there = self.connection.there();
        let Some(head) = there.first_chunk::<HEAD>() else {
            return Ok(None);
        };
        let word = |at: usize| i32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let length = usize::try_from(word(0)).map_err(|_| garbled())?;
        if word(12) != OP_MSG || word(8) != self.number {
            return Err(garbled());
        }
        if length > LONGEST {
            return Err(too_long(length, LONGEST));
        }
        if there.len() < length {
            return Ok(None);
        }
        let Some([f0, f1, f2, f3, 0, ..]) = there.get(HEAD..length) else {
            return Err(garbled());
        };
        let checksum = if u32::from_le_bytes([*f0, *f1, *f2, *f3]) & CHECKSUM_PRESENT != 0 {
            4
        } else {
            0
        };
        let mut place = self.connection.take(length);
        place.start += HEAD + 5;
        place.end = place.end.saturating_sub(checksum).max(place.start);
        Ok(Some(place))
    }
}
