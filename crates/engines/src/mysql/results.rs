//! What the server answers to a statement: the number of rows that it changed, or rows, or an error.

use super::values::{Column, field, take_binary, take_text};
use super::wire::{Wire, error, garbled, number, ok};
use crate::{Capture, Failure, Marks, Rows};
use mysql_common::constants::StatusFlags;

/// Reads answers.
pub struct Reader {
    /// The columns of the last answer into whose rows was looked.
    pub columns: Vec<Column>,
    /// What the server last said of the session.
    status: u16,
}

impl Reader {
    /// A reader of a session whose status is known.
    pub fn new(status: u16) -> Self {
        let columns = Vec::new();
        Self { columns, status }
    }

    /// Whether the server last said something of the session.
    #[inline]
    pub fn has(&self, flag: StatusFlags) -> bool {
        self.status & flag.bits() != 0
    }

    /// Reads all results of a statement: most have one.
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
                        if first {
                            marks.note_first_row();
                            first = false;
                            if !capture.is_empty() {
                                let take = if binary { take_binary } else { take_text };
                                take(body, &self.columns, &mut capture)?;
                            }
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

    /// Reads the definitions of columns, which are only looked into if a row is.
    #[inline]
    async fn read_columns(&mut self, wire: &mut Wire, count: u64, look: bool) -> Result<(), Failure> {
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

    /// Reads all results of a text, and gives the rows of all of them, as text.
    pub async fn read_words(&mut self, wire: &mut Wire) -> Result<Vec<Vec<Option<String>>>, Failure> {
        let mut rows = Vec::new();
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

/// Whether a packet ends the rows. One that begins alike but is as long as can be is a row, with a very long field.
#[inline(always)]
fn ends_rows(body: &[u8]) -> bool {
    body.first() == Some(&0xfe) && body.len() < 0xff_ff_ff
}

/// The server's status, from the packet that ends the rows.
fn status_at_end(wire: &Wire, body: &[u8]) -> Result<u16, Failure> {
    if wire.deprecates_eof {
        return ok(body).map(|done| done.status);
    }
    match body {
        [_, _, _, a, b, ..] => Ok(u16::from_le_bytes([*a, *b])),
        _ => Err(garbled()),
    }
}
