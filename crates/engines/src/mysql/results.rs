//! Reads the server's response to a statement: changed rows, a result set, or an error.

use super::values::{Column, field, take_binary, take_text};
use super::wire::{Wire, error, garbled, number, ok};
use crate::server::net::{LONGEST_ANSWER, answer_too_long};
use dbdyno_engine::{Capture, Failure, Marks, Rows};
use mysql_common::constants::StatusFlags;

/// Maximum number of columns, by the limits of MariaDB and MySQL for tables and joins.
const MOST_COLUMNS: u64 = 65_535;

/// Reads responses.
pub struct Reader {
    /// The columns of the last result set whose rows were decoded.
    pub columns: Vec<Column>,
    /// The session status that the server last reported.
    status: u16,
}

impl Reader {
    /// A reader for a session with a known status.
    pub fn new(status: u16) -> Self {
        let columns = Vec::new();
        Self { columns, status }
    }

    /// Whether the session's status includes a flag.
    #[inline]
    pub fn has(&self, flag: StatusFlags) -> bool {
        self.status & flag.bits() != 0
    }

    /// Reads all results of a statement; most have one.
    pub async fn read(
        &mut self,
        wire: &mut Wire,
        binary: bool,
        mut capture: Capture<'_>,
        marks: &mut Marks,
    ) -> Result<Rows, Failure> {
        let (mut rows, mut first) = (Rows::default(), true);
        loop {
            let place = wire.packet().await?;
            let body = wire.body(&place);
            match body {
                [0x00, ..] => {
                    let done = ok(body)?;
                    self.status = done.status;
                    rows.changed += done.changed;
                    if first {
                        marks.note_first_row();
                        capture.clear();
                        first = false;
                    }
                }
                [0xff, ..] => return Err(error(body)),
                _ => {
                    let count = number(&mut &*body)?;
                    self.read_columns(wire, count, first && !capture.is_empty()).await?;
                    loop {
                        let place = wire.packet().await?;
                        let body = wire.body(&place);
                        if ends_rows(body) {
                            if first {
                                marks.note_first_row();
                                capture.clear();
                                first = false;
                            }
                            self.status = status_at_end(wire, body)?;
                            break;
                        }
                        if body.first() == Some(&0xff) {
                            return Err(error(body));
                        }
                        let takes = if first {
                            !capture.is_empty()
                        } else {
                            capture.wants_every_row()
                        };
                        if first {
                            marks.note_first_row();
                            first = false;
                        }
                        if takes {
                            let take = if binary { take_binary } else { take_text };
                            take(body, &self.columns, &mut capture)?;
                        }
                        rows.returned += 1;
                    }
                }
            }
            if !self.has(StatusFlags::SERVER_MORE_RESULTS_EXISTS) {
                return Ok(rows);
            }
        }
    }

    /// Reads column definitions, which are decoded only if a row will be.
    #[inline]
    async fn read_columns(&mut self, wire: &mut Wire, count: u64, look: bool) -> Result<(), Failure> {
        if count > MOST_COLUMNS {
            return Err(garbled());
        }
        if look {
            self.columns.clear();
        }
        for _ in 0..count {
            let place = wire.packet().await?;
            if look {
                self.columns.push(Column::read(wire.body(&place))?);
            }
        }
        if !wire.deprecates_eof {
            wire.packet().await?;
        }
        Ok(())
    }

    /// Reads all results of a text and returns their rows as strings.
    pub async fn read_words(&mut self, wire: &mut Wire) -> Result<Vec<Vec<Option<String>>>, Failure> {
        let (mut rows, mut length) = (Vec::new(), 0);
        loop {
            let place = wire.packet().await?;
            let body = wire.body(&place);
            match body {
                [0x00, ..] => self.status = ok(body)?.status,
                [0xff, ..] => return Err(error(body)),
                _ => {
                    let count = number(&mut &*body)?;
                    self.read_columns(wire, count, true).await?;
                    loop {
                        let place = wire.packet().await?;
                        let mut body = wire.body(&place);
                        if ends_rows(body) {
                            self.status = status_at_end(wire, body)?;
                            break;
                        }
                        if body.first() == Some(&0xff) {
                            return Err(error(body));
                        }
                        length += body.len() + size_of::<Vec<u8>>();
                        if length > LONGEST_ANSWER {
                            return Err(answer_too_long());
                        }
                        let row = (0..count).map(|_| {
                            let field = field(&mut body)?;
                            Ok(field.map(|field| String::from_utf8_lossy(field).into_owned()))
                        });
                        rows.push(row.collect::<Result<_, Failure>>()?);
                    }
                }
            }
            if !self.has(StatusFlags::SERVER_MORE_RESULTS_EXISTS) {
                return Ok(rows);
            }
        }
    }
}

/// Whether a packet ends the rows. A packet with the same first byte but maximum length is a row with a very long
/// field.
#[inline(always)]
fn ends_rows(body: &[u8]) -> bool {
    body.first() == Some(&0xfe) && body.len() < 0xff_ff_ff
}

/// The server status in the packet that ends the rows.
fn status_at_end(wire: &Wire, body: &[u8]) -> Result<u16, Failure> {
    if wire.deprecates_eof {
        return ok(body).map(|done| done.status);
    }
    match body {
        [_, _, _, a, b, ..] => Ok(u16::from_le_bytes([*a, *b])),
        _ => Err(garbled()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{Script, ok};
    use super::super::session::MysqlSession;
    use crate::server::net::block_on;
    use dbdyno_engine::{Failure, Rows, Session as _};
    use dbdyno_program::value::{Owned, Values};
    use dbdyno_protocol::plan::document::{FailureKind, PrepareMode, Statement};
    use mysql_common::constants::CapabilityFlags;

    const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];

    /// Runs a text on a server that responds with the given packets.
    fn run(deprecates_eof: bool, answer: &[&[u8]]) -> Result<(Rows, Owned), Failure> {
        let mut capabilities = CapabilityFlags::all();
        capabilities.set(CapabilityFlags::CLIENT_DEPRECATE_EOF, deprecates_eof);
        let answer = answer.iter().map(|packet| packet.to_vec()).collect();
        let script = Script::new("mysql_native_password", capabilities.bits(), vec![vec![ok()], answer]);
        let statement = Statement::new("s", "select a");
        let engine = super::super::MysqlEngine::new(&script.target(""), &[statement], PrepareMode::Never);
        let mut marks = dbdyno_engine::Marks::new(None);
        let (slots, variables) = (&[0], &mut [Owned::Integer(-1)]);
        let ran = block_on(async {
            let mut session = MysqlSession::open(&engine.target, engine.statements.clone(), engine.prepare).await?;
            let asked = session.execute(0, &Values::default(), dbdyno_engine::Capture::nothing(), &mut marks);
            assert!(asked.is_pending());
            let wanted = &mut dbdyno_engine::Wanted {
                slots,
                variables,
                every: None,
            };
            session.answer(dbdyno_engine::Capture::new(wanted), &mut marks).await
        });
        script.heard();
        ran.map(|rows| (rows, variables[0].clone()))
    }

    /// An integer column `a`.
    fn column() -> Vec<u8> {
        let mut packet = b"\x03def\0\0\0\x01a\0".to_vec();
        packet.extend_from_slice(&[0x0c, 63, 0, 20, 0, 0, 0, 8, 0, 0, 0, 0, 0]);
        packet
    }

    #[test]
    fn rows_end_according_to_the_capabilities() {
        let two = Rows {
            returned: 2,
            changed: 0,
        };
        let end = [0xfe, 0, 0, 2, 0, 0, 0];
        let (rows, first) = run(true, &[&[1], &column(), b"\x0217", b"\x0218", &end]).unwrap();
        assert_eq!((rows, first), (two, Owned::Integer(17)));
        let (rows, first) = run(false, &[&[1], &column(), EOF, b"\x0217", b"\x0218", EOF]).unwrap();
        assert_eq!((rows, first), (two, Owned::Integer(17)));
        let (rows, first) = run(false, &[&[1], &column(), EOF, EOF]).unwrap();
        assert_eq!((rows.returned, first), (0, Owned::Null));
    }

    #[test]
    fn all_results_of_a_statement_are_read() {
        let more = [0xfe, 0, 0, 2 | 8, 0, 0, 0];
        let done = [0, 3, 0, 2, 0, 0, 0];
        let (rows, first) = run(true, &[&[1], &column(), b"\x0217", &more, &done]).unwrap();
        let expected = Rows {
            returned: 1,
            changed: 3,
        };
        assert_eq!((rows, first), (expected, Owned::Integer(17)));
    }

    #[test]
    fn an_error_or_a_closed_connection_after_rows_is_a_failure() {
        let error = b"\xff\xb1\x07#70100Query execution was interrupted";
        let failure = run(true, &[&[1], &column(), b"\x0217", error]).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Timeout);
        let failure = run(true, &[&[1], &column(), b"\x0217"]).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Connection);
    }

    #[test]
    fn an_unsolicited_file_request_is_refused() {
        let failure = run(true, &[b"\xfb/etc/passwd"]).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Connection);
    }
}
