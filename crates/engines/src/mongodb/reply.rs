//! Reads a server's response to a command: rows, document counts, or an error.

use super::command::{Answer, Columns, Command};
use super::decode::{Document, Field};
use super::kind_of;
use super::values::{document, find, garbled, integer};
use bson::RawDocument;
use dbdyno_engine::{Capture, Failure, Rows};
use dbdyno_protocol::plan::document::FailureKind;

/// A successful response.
#[derive(Debug, Default)]
pub struct Read {
    /// Its rows.
    pub rows: Rows,
    /// The cursor with further rows, and its collection.
    pub more: Option<(i64, String)>,
}

/// Reads a response. The columns of its first row are captured.
#[inline]
pub fn read(answer: &[u8], command: &Command, capture: &mut Capture<'_>) -> Result<Read, Failure> {
    let mut parts = Parts::default();
    for field in Document::of(answer)? {
        let field = field?;
        match field.name {
            b"ok" => parts.is_ok = field.integer() == Some(1),
            b"cursor" => parts.cursor = field.document(),
            b"n" => parts.n = Some(field),
            b"value" => parts.value = Some(field),
            b"values" => parts.values = field.document(),
            b"lastErrorObject" => parts.last = field.document(),
            b"writeErrors" | b"writeConcernError" => parts.is_refused = true,
            _ => {}
        }
    }
    if !parts.is_ok || parts.is_refused {
        return Err(failure_of(document(answer)?)?.unwrap_or_else(garbled));
    }
    let mut read = Read::default();
    match command.answer {
        Answer::Count => {
            read.rows.returned = 1;
            capture.take(0, parts.n.ok_or_else(garbled)?.value().view());
        }
        Answer::Changes => {
            read.rows.changed = count(parts.n);
            capture.clear();
        }
        Answer::Values => {
            for value in parts.values.ok_or_else(garbled)? {
                let value = value?;
                if read.rows.returned == 0 {
                    capture.take(0, value.value().view());
                }
                read.rows.returned += 1;
            }
            if read.rows.returned == 0 {
                capture.clear();
            }
        }
        Answer::Value => {
            read.rows.changed = count(parts.last.and_then(|last| last.find(&["n"])));
            match parts.value.and_then(|value| value.document()) {
                Some(document) => {
                    read.rows.returned = 1;
                    take_row(document, &command.columns, capture)?;
                }
                None => capture.clear(),
            }
        }
        Answer::Cursor => match parts.cursor {
            Some(cursor) => read_cursor(cursor, &command.columns, capture, &mut read)?,
            None => capture.clear(),
        },
    }
    Ok(read)
}

#[derive(Default)]
struct Parts<'a> {
    is_ok: bool,
    is_refused: bool,
    cursor: Option<Document<'a>>,
    n: Option<Field<'a>>,
    value: Option<Field<'a>>,
    values: Option<Document<'a>>,
    last: Option<Document<'a>>,
}

fn count(field: Option<Field<'_>>) -> u64 {
    field
        .and_then(|field| field.integer())
        .and_then(|n| u64::try_from(n).ok())
        .unwrap_or(0)
}

#[inline]
fn read_cursor(
    cursor: Document<'_>,
    columns: &Columns,
    capture: &mut Capture<'_>,
    read: &mut Read,
) -> Result<(), Failure> {
    let (mut number, mut space) = (0, "");
    for field in cursor {
        let field = field?;
        match field.name {
            b"id" => number = field.integer().ok_or_else(garbled)?,
            b"ns" => space = field.text().ok_or_else(garbled)?,
            b"firstBatch" | b"nextBatch" => {
                let is_first = field.name == b"firstBatch";
                for document in field.document().ok_or_else(garbled)? {
                    let document = document?;
                    if is_first && read.rows.returned == 0 && !capture.is_empty() {
                        take_row(document.document().ok_or_else(garbled)?, columns, capture)?;
                    }
                    read.rows.returned += 1;
                }
                if is_first && read.rows.returned == 0 {
                    capture.clear();
                }
            }
            _ => {}
        }
    }
    if number != 0 {
        let (_, collection) = space.split_once('.').ok_or_else(garbled)?;
        read.more = Some((number, collection.to_owned()));
    }
    Ok(())
}

/// Captures the columns of a document; missing ones are null.
fn take_row(document: Document<'_>, columns: &Columns, capture: &mut Capture<'_>) -> Result<(), Failure> {
    capture.clear();
    match columns {
        Columns::Named(names) => {
            for (column, name) in names.iter().take(capture.len()).enumerate() {
                let path: Vec<&str> = name.split('.').collect();
                if let Some(field) = document.find(&path) {
                    capture.take(column, field.value().view());
                }
            }
        }
        Columns::AsTheyCome => {
            let fields = document.filter(|field| !field.as_ref().is_ok_and(|field| field.name == b"_id"));
            for (column, field) in fields.take(capture.len()).enumerate() {
                capture.take(column, field?.value().view());
            }
        }
    }
    Ok(())
}

/// The failure in a response, if any: of the command, of one of its writes, or of the write concern.
#[cold]
pub fn failure_of(answer: &RawDocument) -> Result<Option<Failure>, Failure> {
    let ok = answer.get("ok").map_err(|_| garbled())?;
    if ok.and_then(integer) != Some(1) {
        return Ok(Some(told(answer)));
    }
    let write = answer
        .get_array("writeErrors")
        .and_then(|errors| errors.get_document(0));
    Ok(write
        .or_else(|_| answer.get_document("writeConcernError"))
        .ok()
        .map(told))
}

/// The failure in a document with a code and a message.
fn told(error: &RawDocument) -> Failure {
    let code = find(error, &["code"]).and_then(integer);
    let message = error.get_str("errmsg").unwrap_or("the server gives no reason");
    let kind = code.map_or(FailureKind::Other, |code| kind_of(code, message));
    let code = code.map_or_else(|| "?".to_owned(), |code| code.to_string());
    let failure = match error.get_str("codeName") {
        Ok(name) => Failure::new(kind, format!("{message} ({code}, {name})")),
        Err(_) => Failure::new(kind, format!("{message} ({code})")),
    };
    failure.coded(code)
}
