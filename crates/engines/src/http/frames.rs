//! The frames of HTTP/2 (RFC 9113, 4 and 6), as a client reads and writes them.

use bytes::BytesMut;

/// Bytes of a frame's head.
pub const HEAD: usize = 9;

/// The longest that a frame may be where nothing else is said, and that this client takes.
pub const LONGEST: usize = 16_384;

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PUSH_PROMISE: u8 = 5;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;

pub const ACK: u8 = 0x1;
pub const END_STREAM: u8 = 0x1;
pub const END_HEADERS: u8 = 0x4;
pub const PADDED: u8 = 0x8;
pub const PRIORITY: u8 = 0x20;

const HEADER_TABLE_SIZE: u16 = 1;
const ENABLE_PUSH: u16 = 2;
pub const INITIAL_WINDOW_SIZE: u16 = 4;
pub const MAX_FRAME_SIZE: u16 = 5;

/// The error of whoever wants no more of a stream.
pub const CANCEL: u32 = 8;

/// The errors by their numbers (7).
const ERRORS: [&str; 14] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
];

/// The head of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Bytes that it holds.
    pub length: usize,
    /// What it is.
    pub kind: u8,
    flags: u8,
    /// The stream that it is of; 0: the connection.
    pub stream: u32,
}

impl Frame {
    /// Reads one, where the whole of it has come.
    pub fn read(there: &[u8]) -> Option<Self> {
        let [a, b, c, kind, flags, stream @ ..] = there.first_chunk::<HEAD>()?;
        Some(Self {
            length: u32::from_be_bytes([0, *a, *b, *c]) as usize,
            kind: *kind,
            flags: *flags,
            stream: u32::from_be_bytes(*stream) & 0x7fff_ffff,
        })
    }

    /// Whether it has a flag.
    pub fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// The name of an error.
pub fn error_name(code: u32) -> &'static str {
    ERRORS.get(code as usize).copied().unwrap_or("an unknown error")
}

/// Gives the settings that a frame holds, by their numbers.
pub fn settings(held: &[u8]) -> impl Iterator<Item = (u16, u32)> {
    held.chunks_exact(6).map(|each| {
        let name = u16::from_be_bytes([each[0], each[1]]);
        (name, u32::from_be_bytes([each[2], each[3], each[4], each[5]]))
    })
}

fn put(kind: u8, flags: u8, stream: u32, held: &[u8], out: &mut BytesMut) {
    let length = (held.len() as u32).to_be_bytes();
    out.extend_from_slice(&[length[1], length[2], length[3], kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(held);
}

/// Writes what a client begins with: that it keeps no table of header fields, is sent nothing unasked, and takes so many
/// bytes of a reply before it is asked for more.
pub fn preface(window: u32, out: &mut BytesMut) {
    out.extend_from_slice(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    let mut held = Vec::new();
    for (name, value) in [(HEADER_TABLE_SIZE, 0), (ENABLE_PUSH, 0), (INITIAL_WINDOW_SIZE, window)] {
        held.extend_from_slice(&name.to_be_bytes());
        held.extend_from_slice(&value.to_be_bytes());
    }
    put(SETTINGS, 0, 0, &held, out);
}

/// Writes the header fields of a request, in frames of at most `longest` bytes. `is_whole`: it has no body.
pub fn headers(stream: u32, block: &[u8], is_whole: bool, longest: usize, out: &mut BytesMut) {
    let first = &block[..block.len().min(longest)];
    let end = |sent: usize| if sent == block.len() { END_HEADERS } else { 0 };
    let flags = end(first.len()) | if is_whole { END_STREAM } else { 0 };
    put(HEADERS, flags, stream, first, out);
    let mut sent = first.len();
    while sent < block.len() {
        let part = &block[sent..block.len().min(sent + longest)];
        sent += part.len();
        put(CONTINUATION, end(sent), stream, part, out);
    }
}

/// Writes a part of a body; `is_last`: the last.
pub fn data(stream: u32, part: &[u8], is_last: bool, out: &mut BytesMut) {
    put(DATA, if is_last { END_STREAM } else { 0 }, stream, part, out);
}

/// Lets so many bytes more come; `stream`: 0 on the connection.
pub fn window_update(stream: u32, more: u32, out: &mut BytesMut) {
    put(WINDOW_UPDATE, 0, stream, &more.to_be_bytes(), out);
}

/// Ends a stream.
pub fn reset(stream: u32, error: u32, out: &mut BytesMut) {
    put(RST_STREAM, 0, stream, &error.to_be_bytes(), out);
}

/// Answers settings or a ping.
pub fn answer(kind: u8, held: &[u8], out: &mut BytesMut) {
    put(kind, ACK, 0, held, out);
}
