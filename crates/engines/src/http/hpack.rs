//! Header fields as HTTP/2 has them (HPACK, RFC 7541), for a client that announces that it keeps no table of its peer's
//! fields: then each block stands for itself. What nobody wants to read is passed over.

use bytes::BytesMut;

/// A block that is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// It ends within a field.
    #[error("it is cut off")]
    Cut,
    /// A number is greater than any that a block can need.
    #[error("a number in it is too great")]
    Great,
    /// It names a field of a table that is not kept.
    #[error("it refers to a field that was sent before, though no table for these was announced")]
    Table,
    /// A text is no Huffman code.
    #[error("a text in it is not Huffman coded as it says")]
    Huffman,
}

/// A text as it stands in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text<'a> {
    bytes: &'a [u8],
    huffman: bool,
}

impl<'a> Text<'a> {
    fn plain(text: &'a str) -> Self {
        Self {
            bytes: text.as_bytes(),
            huffman: false,
        }
    }

    /// Reads it; `room` is where a coded one is decoded to.
    pub fn read<'b>(&self, room: &'b mut Vec<u8>) -> Result<&'b [u8], Wrong>
    where
        'a: 'b,
    {
        if !self.huffman {
            return Ok(self.bytes);
        }
        room.clear();
        decode(self.bytes, room)?;
        Ok(room)
    }
}

/// Gives each field of a block, its name and its value.
pub fn fields<'a>(block: &'a [u8], mut each: impl FnMut(Text<'a>, Text<'a>) -> Result<(), Wrong>) -> Result<(), Wrong> {
    let mut rest = block;
    while let Some(&first) = rest.first() {
        if first & 0x80 != 0 {
            let (name, value) = known(number(&mut rest, 7)?)?;
            each(name, value)?;
        } else if first & 0xe0 == 0x20 {
            // The size of the table, which can only be none.
            if number(&mut rest, 5)? != 0 {
                return Err(Wrong::Table);
            }
        } else {
            let bits = if first & 0x40 != 0 { 6 } else { 4 };
            let name = match number(&mut rest, bits)? {
                0 => text(&mut rest)?,
                index => known(index)?.0,
            };
            let value = text(&mut rest)?;
            each(name, value)?;
        }
    }
    Ok(())
}

fn known(index: usize) -> Result<(Text<'static>, Text<'static>), Wrong> {
    let found = index.checked_sub(1).and_then(|at| STATIC.get(at));
    let (name, value) = found.ok_or(Wrong::Table)?;
    Ok((Text::plain(name), Text::plain(value)))
}

/// A number that begins in the last bits of a byte (5.1).
fn number(rest: &mut &[u8], bits: u32) -> Result<usize, Wrong> {
    let (first, after) = rest.split_first().ok_or(Wrong::Cut)?;
    *rest = after;
    let most = (1usize << bits) - 1;
    let mut value = usize::from(*first) & most;
    if value < most {
        return Ok(value);
    }
    // Four bytes more make 2^28.
    for shift in [0, 7, 14, 21] {
        let (byte, after) = rest.split_first().ok_or(Wrong::Cut)?;
        *rest = after;
        value += usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Wrong::Great)
}

fn text<'a>(rest: &mut &'a [u8]) -> Result<Text<'a>, Wrong> {
    let huffman = rest.first().ok_or(Wrong::Cut)? & 0x80 != 0;
    let length = number(rest, 7)?;
    let (bytes, after) = rest.split_at_checked(length).ok_or(Wrong::Cut)?;
    *rest = after;
    Ok(Text { bytes, huffman })
}

/// Writes a number after the bits of `first` that say what it is of.
fn put_number(first: u8, bits: u32, value: usize, out: &mut BytesMut) {
    let most = (1usize << bits) - 1;
    if value < most {
        out.extend_from_slice(&[first | value as u8]);
        return;
    }
    out.extend_from_slice(&[first | most as u8]);
    let mut left = value - most;
    while left >= 0x80 {
        out.extend_from_slice(&[left as u8 | 0x80]);
        left >>= 7;
    }
    out.extend_from_slice(&[left as u8]);
}

fn put_text(text: &[u8], out: &mut BytesMut) {
    put_number(0, 7, text.len(), out);
    out.extend_from_slice(text);
}

/// Writes a field whose name and value are one of the table (numbered from 1).
pub fn put_known(index: usize, out: &mut BytesMut) {
    put_number(0x80, 7, index, out);
}

/// Writes a field whose name is one of the table, which the peer is not to keep.
pub fn put_named(index: usize, value: &[u8], out: &mut BytesMut) {
    put_number(0, 4, index, out);
    put_text(value, out);
}

/// Writes a field that nobody is to keep; its name is in small letters.
pub fn put(name: &[u8], value: &[u8], out: &mut BytesMut) {
    put_number(0x10, 4, 0, out);
    put_text(name, out);
    put_text(value, out);
}

/// The longest code.
const LONGEST: usize = 30;

/// By length, how many codes have it; and the symbols in the order of their codes, which is that of length and symbol: the
/// code is canonical.
struct Codes {
    count: [u16; LONGEST + 1],
    symbols: [u16; LENGTHS.len()],
}

static CODES: Codes = codes();

const fn codes() -> Codes {
    let mut count = [0; LONGEST + 1];
    let mut symbols = [0; LENGTHS.len()];
    let (mut length, mut at) = (1, 0);
    while length <= LONGEST {
        let mut symbol = 0;
        while symbol < LENGTHS.len() {
            if LENGTHS[symbol] as usize == length {
                symbols[at] = symbol as u16;
                at += 1;
                count[length] += 1;
            }
            symbol += 1;
        }
        length += 1;
    }
    Codes { count, symbols }
}

fn decode(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Wrong> {
    let (mut code, mut first, mut at, mut length) = (0u32, 0u32, 0usize, 0usize);
    let mut padding = true;
    for byte in bytes {
        for bit in (0..8).rev() {
            let one = u32::from(byte >> bit & 1);
            padding = (padding || length == 0) && one == 1;
            code |= one;
            length += 1;
            if length > LONGEST {
                return Err(Wrong::Huffman);
            }
            let count = u32::from(CODES.count[length]);
            if code - first < count {
                // The end of a text is no part of one.
                let symbol = CODES.symbols[at + (code - first) as usize];
                out.push(u8::try_from(symbol).map_err(|_| Wrong::Huffman)?);
                (code, first, at, length) = (0, 0, 0, 0);
            } else {
                at += count as usize;
                first = (first + count) << 1;
                code <<= 1;
            }
        }
    }
    // What fills the last byte is the beginning of the longest code.
    if length > 7 || (length > 0 && !padding) {
        return Err(Wrong::Huffman);
    }
    Ok(())
}

/// The table that both sides know (appendix A), numbered from 1.
#[rustfmt::skip]
const STATIC: [(&str, &str); 61] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

/// The bits of each symbol's code, the last that of the end (appendix B).
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7,
    7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21,
    23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24,
    21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(block: &[u8]) -> Result<Vec<(String, String)>, Wrong> {
        let mut found = Vec::new();
        fields(block, |name, value| {
            let words = |text: Text<'_>| {
                let mut room = Vec::new();
                text.read(&mut room)
                    .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            };
            found.push((words(name)?, words(value)?));
            Ok(())
        })?;
        Ok(found)
    }

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.chunks(2).map(pair).collect()
    }

    fn named(fields: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        fields.iter().map(owned).collect()
    }

    #[test]
    fn the_examples_of_the_standard_are_read() {
        for (hex, expected) in [
            (
                "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
                ("custom-key", "custom-header"),
            ),
            ("040c 2f73 616d 706c 652f 7061 7468", (":path", "/sample/path")),
            ("1008 7061 7373 776f 7264 0673 6563 7265 74", ("password", "secret")),
            ("82", (":method", "GET")),
            // With Huffman codes.
            ("418c f1e3 c2e5 f23a 6ba0 ab90 f4ff", (":authority", "www.example.com")),
            ("5886 a8eb 1064 9cbf", ("cache-control", "no-cache")),
            (
                "6196 d07a be94 1054 d444 a820 0595 040b 8166 e082 a62d 1bff",
                ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
            ),
        ] {
            assert_eq!(read(&bytes(hex)), Ok(named(&[expected])), "{hex}");
        }
        let first = "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff";
        let expected = [
            (":method", "GET"),
            (":scheme", "http"),
            (":path", "/"),
            (":authority", "www.example.com"),
        ];
        assert_eq!(read(&bytes(first)), Ok(named(&expected)));
        // That no table is kept is said before the first field.
        assert_eq!(read(&bytes("20 88")), Ok(named(&[(":status", "200")])));
    }

    #[test]
    fn what_is_no_block_is_told() {
        for (hex, wrong) in [
            ("be", Wrong::Table),
            ("80", Wrong::Table),
            ("3f e1 1f 88", Wrong::Table),
            ("40 0a 63", Wrong::Cut),
            ("ff", Wrong::Cut),
            ("ff ff ff ff ff 01", Wrong::Great),
            // Padding of eight bits; of zeroes; the end of a text within it.
            ("48 83 64 02 ff", Wrong::Huffman),
            ("48 81 00", Wrong::Huffman),
            ("48 84 ff ff ff ff", Wrong::Huffman),
        ] {
            assert_eq!(read(&bytes(hex)), Err(wrong), "{hex}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(fields in proptest::collection::vec(("[a-z-]{1,300}", "\\PC{0,300}"), 0..9)) {
            let mut block = BytesMut::new();
            put_known(2, &mut block);
            put_named(4, b"/a", &mut block);
            fields.iter().for_each(|(name, value)| put(name.as_bytes(), value.as_bytes(), &mut block));
            let mut expected = named(&[(":method", "GET"), (":path", "/a")]);
            expected.extend(fields);
            prop_assert_eq!(read(&block), Ok(expected));
        }

        #[test]
        fn no_bytes_make_it_panic(block in proptest::collection::vec(any::<u8>(), 0..99)) {
            let _ = read(&block);
        }
    }
}
