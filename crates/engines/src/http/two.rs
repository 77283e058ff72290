//! A session in HTTP/2 (RFC 9113): one request at a time, over a connection of its own.
//!
//! The framing is our own, over the same connections as HTTP/1.1: the crate `h2` keeps 28 KiB of buffers for each, which
//! ten thousand clients do not share.

use super::fill::{Part, fill};
use super::frames::{self, CONTINUATION, DATA, Frame, GOAWAY, HEADERS, PING, PUSH_PROMISE, RST_STREAM, SETTINGS};
use super::hpack::{self, Wrong};
use super::one::{MOST_TAKEN, too_long};
use super::request::{Ready, TOLD};
use super::{NO_CONNECTION, NO_REPLY, Shared};
use crate::server::net::Connection;
use bytes::BytesMut;
use dbdyno_engine::{Capture, Failure, Marks, check_count};
use dbdyno_program::value::Values;
use dbdyno_protocol::plan::document::FailureKind;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What may come before it is taken, of one reply and of all (6.9.2): as much as browsers let come.
const WINDOW: u32 = 1 << 20;

/// What may come and be sent where nothing else is said.
const FIRST_WINDOW: u32 = 65_535;

/// A block of header fields that is longer is nobody's.
const LONGEST_HEAD: usize = 1 << 20;

/// The last number of a stream that a client may use is 2^31 - 1.
const LAST_STREAM: u32 = (1 << 31) - 1;

/// A session.
pub struct Two {
    shared: Arc<Shared>,
    link: Option<Box<Link>>,
    /// Whether the connection was there before the request.
    kept: bool,
    /// The request: its header fields, and its body.
    head: BytesMut,
    content: BytesMut,
    has_body: bool,
    /// What is kept of the body that comes.
    body: Vec<u8>,
}

/// A connection, and what both sides have said of it.
struct Link {
    connection: Connection,
    /// The stream of the request.
    stream: u32,
    /// What may be sent on the connection, on the stream, and on a stream that begins.
    windows: (i64, i64, i64),
    /// The longest frame that may be sent.
    longest: usize,
    /// What of the request's body has been sent.
    sent: usize,
    /// What has come on the connection and on the stream since the other side was told that it was taken.
    received: (u32, u32),
    /// The other side takes no further stream.
    ends: bool,
}

/// What has come of a reply.
#[derive(Default)]
struct Came {
    /// Its status, where its header fields have come.
    status: Option<u16>,
    /// Which columns are taken.
    taken: u64,
    /// It is whole.
    over: bool,
}

impl Two {
    /// Connects.
    pub async fn open(shared: Arc<Shared>) -> Result<Self, Failure> {
        let link = Some(Link::open(&shared).await?);
        Ok(Self {
            shared,
            link,
            kept: false,
            head: BytesMut::new(),
            content: BytesMut::new(),
            has_body: false,
            body: Vec::new(),
        })
    }

    /// The version of TLS.
    pub fn encryption(&self) -> Option<String> {
        self.link.as_ref().and_then(|link| link.connection.encryption())
    }

    /// Makes a request, and sends what can be sent at once.
    pub fn ask(&mut self, ready: &Ready, params: &Values) -> Result<(), Failure> {
        check_count(ready.parameters, params.len())?;
        self.content.clear();
        if let Some(parts) = &ready.body {
            fill(&parts.0, params, &mut self.content)?;
        }
        self.has_body = ready.body.is_some();
        self.make_head(ready, params)?;
        if self.link.as_ref().is_some_and(|link| link.stream >= LAST_STREAM) {
            self.link = None;
        }
        self.kept = self.link.is_some();
        match &mut self.link {
            Some(link) => {
                link.begin(&self.head, self.has_body, &self.content);
                link.connection.send()
            }
            None => Ok(()),
        }
    }

    /// Writes the header fields. None is to be kept by the other side: each request stands for itself.
    fn make_head(&mut self, ready: &Ready, params: &Values) -> Result<(), Failure> {
        let target = &self.shared.way.target;
        let head = &mut self.head;
        head.clear();
        match ready.method.as_str() {
            "GET" => hpack::put_known(2, head),
            "POST" => hpack::put_known(3, head),
            method => hpack::put_named(2, method.as_bytes(), head),
        }
        hpack::put_known(if target.tls.is_some() { 7 } else { 6 }, head);
        hpack::put_named(1, self.shared.authority.as_bytes(), head);
        let mut room = BytesMut::new();
        let path = text(&ready.path, params, &mut room)?;
        if path == b"/" {
            hpack::put_known(4, head);
        } else {
            hpack::put_named(4, path, head);
        }
        for (name, value) in &ready.headers {
            hpack::put(name.as_bytes(), text(value, params, &mut room)?, head);
        }
        Ok(())
    }

    /// Waits for the reply.
    pub async fn answer(&mut self, ready: &Ready, capture: &mut Capture<'_>, marks: &mut Marks) -> Result<(), Failure> {
        let longest = self.shared.way.target.timeout();
        let answered = tokio::time::timeout(longest, self.exchange(ready, capture, marks)).await;
        let answered = answered.unwrap_or_else(|_| Err(self.shared.late(NO_REPLY)));
        if let Err(failure) = &answered
            && failure.kind != FailureKind::Status
        {
            self.link = None;
        }
        answered.map_err(|failure| match failure.kind {
            FailureKind::Status => failure,
            _ => failure.explained(|why| format!("{}: {why}", ready.name)),
        })
    }

    async fn exchange(&mut self, ready: &Ready, capture: &mut Capture<'_>, marks: &mut Marks) -> Result<(), Failure> {
        loop {
            if self.link.is_none() {
                let mut link = Link::open(&self.shared).await?;
                link.begin(&self.head, self.has_body, &self.content);
                self.link = Some(link);
            }
            let Some(link) = &mut self.link else { continue };
            let mut came = Came::default();
            self.body.clear();
            let replied = link
                .reply(
                    ready,
                    (&self.content, &mut self.body),
                    &mut came,
                    (&mut *capture, &mut *marks),
                )
                .await;
            if link.ends {
                self.link = None;
            }
            match replied {
                // The service ended the connection while nobody asked anything.
                Err(failure)
                    if failure.kind == FailureKind::Connection
                        && self.kept
                        && came.status.is_none()
                        && ready.repeatable =>
                {
                    self.kept = false;
                    self.link = None;
                    self.shared.resent.fetch_add(1, Ordering::Relaxed);
                }
                Err(failure) => return Err(failure),
                Ok(()) => {
                    let status = came.status.unwrap_or_default();
                    if !ready.expects(status) {
                        return Err(ready.unexpected(status, &self.body));
                    }
                    if !capture.is_empty() {
                        ready.taking.rest(status, &self.body, capture);
                    }
                    return Ok(());
                }
            }
        }
    }
}

/// A text with its places filled in.
fn text<'a>(parts: &'a [Part], params: &Values, room: &'a mut BytesMut) -> Result<&'a [u8], Failure> {
    match parts {
        [] => Ok(&[]),
        [Part::Bytes(bytes)] => Ok(bytes),
        _ => {
            room.clear();
            fill(parts, params, room)?;
            Ok(room)
        }
    }
}

impl Link {
    async fn open(shared: &Shared) -> Result<Box<Self>, Failure> {
        let opened = async {
            let mut connection = shared.way.connect_for_two().await?;
            frames::preface(WINDOW, &mut connection.out);
            frames::window_update(0, WINDOW - FIRST_WINDOW, &mut connection.out);
            connection.flush().await?;
            Ok(connection)
        };
        let opened = tokio::time::timeout(shared.way.target.timeout(), opened).await;
        let connection = opened.unwrap_or_else(|_| Err(shared.late(NO_CONNECTION)))?;
        shared.opened.fetch_add(1, Ordering::Relaxed);
        let first = i64::from(FIRST_WINDOW);
        Ok(Box::new(Self {
            connection,
            stream: 0,
            windows: (first, first, first),
            longest: frames::LONGEST,
            sent: 0,
            received: (0, 0),
            ends: false,
        }))
    }

    /// Writes a request on a stream of its own, and of its body what may be sent.
    fn begin(&mut self, head: &[u8], has_body: bool, content: &[u8]) {
        self.stream = if self.stream == 0 { 1 } else { self.stream + 2 };
        self.windows.1 = self.windows.2;
        self.received.1 = 0;
        self.sent = 0;
        frames::headers(self.stream, head, !has_body, self.longest, &mut self.connection.out);
        if has_body && content.is_empty() {
            frames::data(self.stream, content, true, &mut self.connection.out);
        }
        self.send_more(content);
    }

    /// Writes what may be sent of a body.
    fn send_more(&mut self, content: &[u8]) {
        while self.sent < content.len() {
            let room = self.windows.0.min(self.windows.1).max(0) as usize;
            let part = (content.len() - self.sent).min(self.longest).min(room);
            if part == 0 {
                return;
            }
            let end = self.sent + part;
            frames::data(
                self.stream,
                &content[self.sent..end],
                end == content.len(),
                &mut self.connection.out,
            );
            self.sent = end;
            self.windows.0 -= part as i64;
            self.windows.1 -= part as i64;
        }
    }

    async fn reply(
        &mut self,
        ready: &Ready,
        (content, body): (&[u8], &mut Vec<u8>),
        came: &mut Came,
        (capture, marks): (&mut Capture<'_>, &mut Marks),
    ) -> Result<(), Failure> {
        while !came.over {
            self.connection.flush().await?;
            let frame = self.frame().await?;
            let own = frame.stream == self.stream;
            match frame.kind {
                DATA => self.take_data(&frame, own, ready, body, came).await?,
                HEADERS => {
                    let first = own && came.status.is_none();
                    self.take_head(&frame, ready, came, capture).await?;
                    if first && came.status.is_some() {
                        marks.note_first_row();
                    }
                }
                RST_STREAM => {
                    let code = self.whole(&frame).await?.first_chunk().copied().map(u32::from_be_bytes);
                    self.connection.take(frame.length);
                    if own {
                        let name = frames::error_name(code.unwrap_or_default());
                        return Err(broken(format!("the server reset the stream ({name})")).coded(name));
                    }
                }
                GOAWAY => self.take_goodbye(&frame).await?,
                CONTINUATION | PUSH_PROMISE => {
                    return Err(broken("HTTP/2: the server sent a frame that has no place there".into()));
                }
                _ => {
                    self.take_word(&frame).await?;
                    self.send_more(content);
                }
            }
        }
        if self.sent < content.len() {
            // Whoever has answered wants no more of it.
            frames::reset(self.stream, frames::CANCEL, &mut self.connection.out);
        }
        Ok(())
    }

    /// Takes the head of the next frame.
    async fn frame(&mut self) -> Result<Frame, Failure> {
        loop {
            if let Some(frame) = Frame::read(self.connection.there()) {
                self.connection.take(frames::HEAD);
                if frame.length > frames::LONGEST {
                    return Err(broken(format!(
                        "HTTP/2: the server sent a frame of {} bytes",
                        frame.length
                    )));
                }
                return Ok(frame);
            }
            self.connection.read().await?;
        }
    }

    /// Reads until all that a frame holds is there.
    async fn whole(&mut self, frame: &Frame) -> Result<&[u8], Failure> {
        while self.connection.there().len() < frame.length {
            self.connection.make_room(frame.length);
            self.connection.read().await?;
        }
        Ok(&self.connection.there()[..frame.length])
    }

    /// Takes a part of a reply's body, as it comes.
    async fn take_data(
        &mut self,
        frame: &Frame,
        own: bool,
        ready: &Ready,
        body: &mut Vec<u8>,
        came: &mut Came,
    ) -> Result<(), Failure> {
        if own && came.status.is_none() {
            return Err(broken("HTTP/2: the server sent a body before its header fields".into()));
        }
        let most = match (
            came.status.is_some_and(|status| ready.expects(status)),
            ready.taking.from_body,
        ) {
            _ if !own => 0,
            (false, _) => TOLD,
            (true, true) => MOST_TAKEN,
            (true, false) => 0,
        };
        let mut left = frame.length;
        let mut padding = 0;
        if frame.is(frames::PADDED) && left > 0 {
            while self.connection.there().is_empty() {
                self.connection.read().await?;
            }
            padding = usize::from(self.connection.there()[0]);
            self.connection.take(1);
            left -= 1;
            if padding > left {
                return Err(broken(
                    "HTTP/2: the server sent more padding than the frame is long".into(),
                ));
            }
        }
        while left > 0 {
            if self.connection.there().is_empty() {
                self.connection.read().await?;
            }
            let there = self.connection.there();
            let part = left.min(there.len());
            let data = part.min(left.saturating_sub(padding));
            let room = most.saturating_sub(body.len()).min(data);
            body.extend_from_slice(&there[..room]);
            self.connection.take(part);
            left -= part;
            if body.len() == MOST_TAKEN {
                return Err(too_long());
            }
        }
        self.tell_taken(frame, own);
        came.over |= own && frame.is(frames::END_STREAM);
        Ok(())
    }

    /// Tells the other side, now and then, that what came was taken.
    fn tell_taken(&mut self, frame: &Frame, own: bool) {
        let length = frame.length as u32;
        self.received.0 += length;
        if self.received.0 >= WINDOW / 2 {
            frames::window_update(0, self.received.0, &mut self.connection.out);
            self.received.0 = 0;
        }
        if own && !frame.is(frames::END_STREAM) {
            self.received.1 += length;
            if self.received.1 >= WINDOW / 2 {
                frames::window_update(self.stream, self.received.1, &mut self.connection.out);
                self.received.1 = 0;
            }
        }
    }

    /// Takes header fields, those that come before a reply, begin it or end it.
    async fn take_head(
        &mut self,
        frame: &Frame,
        ready: &Ready,
        came: &mut Came,
        capture: &mut Capture<'_>,
    ) -> Result<(), Failure> {
        let own = frame.stream == self.stream;
        let (skipped, padding) = {
            let held = self.whole(frame).await?;
            let padding = if frame.is(frames::PADDED) {
                held.first().copied().map(usize::from)
            } else {
                Some(0)
            };
            let skipped = usize::from(frame.is(frames::PADDED)) + if frame.is(frames::PRIORITY) { 5 } else { 0 };
            match padding {
                Some(padding) if skipped + padding <= frame.length => (skipped, padding),
                _ => {
                    return Err(broken(
                        "HTTP/2: the server sent more padding than the frame is long".into(),
                    ));
                }
            }
        };
        let mut read = |block: &[u8]| {
            if own {
                head_of(block, ready, came, capture).map_err(|why| broken(format!("HTTP/2: header fields: {why}")))
            } else {
                Ok(())
            }
        };
        if frame.is(frames::END_HEADERS) {
            read(&self.connection.there()[skipped..frame.length - padding])?;
            self.connection.take(frame.length);
        } else {
            let mut block = self.connection.there()[skipped..frame.length - padding].to_vec();
            self.connection.take(frame.length);
            loop {
                let more = self.frame().await?;
                if more.kind != CONTINUATION || more.stream != frame.stream || block.len() > LONGEST_HEAD {
                    return Err(broken("HTTP/2: the server sent header fields without an end".into()));
                }
                block.extend_from_slice(self.whole(&more).await?);
                self.connection.take(more.length);
                if more.is(frames::END_HEADERS) {
                    break;
                }
            }
            read(&block)?;
        }
        came.over |= own && frame.is(frames::END_STREAM);
        if came.over && came.status.is_none() {
            return Err(broken("HTTP/2: the server sent a reply without a status".into()));
        }
        Ok(())
    }

    /// Takes it that the other side takes no further stream, and perhaps not this one.
    async fn take_goodbye(&mut self, frame: &Frame) -> Result<(), Failure> {
        let held = self.whole(frame).await?;
        let numbers = held
            .first_chunk()
            .copied()
            .zip(held.get(4..).and_then(|rest| rest.first_chunk().copied()));
        self.connection.take(frame.length);
        self.ends = true;
        let (last, code) = numbers.map_or((0, 0), |(last, code)| {
            (u32::from_be_bytes(last), u32::from_be_bytes(code))
        });
        if last & LAST_STREAM >= self.stream {
            return Ok(());
        }
        let name = frames::error_name(code);
        Err(broken(format!("the server ends the connection ({name})")).coded(name))
    }

    /// Takes what concerns the connection: settings, a ping, room to send; and anything that nobody knows.
    async fn take_word(&mut self, frame: &Frame) -> Result<(), Failure> {
        self.whole(frame).await?;
        let place = self.connection.take(frame.length);
        let is_answer = frame.is(frames::ACK);
        match frame.kind {
            SETTINGS if !is_answer => {
                let held = self.connection.taken(place);
                let settings = frames::settings(held);
                for (name, value) in settings {
                    match name {
                        frames::INITIAL_WINDOW_SIZE => {
                            let (before, now) = (self.windows.2, i64::from(value));
                            self.windows.1 += now - before;
                            self.windows.2 = now;
                        }
                        frames::MAX_FRAME_SIZE => self.longest = (value as usize).clamp(frames::LONGEST, 1 << 20),
                        _ => {}
                    }
                }
                frames::answer(SETTINGS, &[], &mut self.connection.out);
            }
            PING if !is_answer => {
                let held = self.connection.taken(place).to_vec();
                frames::answer(PING, &held, &mut self.connection.out);
            }
            frames::WINDOW_UPDATE => {
                let more = self
                    .connection
                    .taken(place)
                    .first_chunk()
                    .copied()
                    .map_or(0, u32::from_be_bytes);
                let more = i64::from(more & LAST_STREAM);
                if frame.stream == 0 {
                    self.windows.0 += more;
                } else if frame.stream == self.stream {
                    self.windows.1 += more;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Reads the header fields of a reply. Those that follow its body are nobody's.
fn head_of(block: &[u8], ready: &Ready, came: &mut Came, capture: &mut Capture<'_>) -> Result<(), Wrong> {
    if came.status.is_some() {
        return Ok(());
    }
    let (mut names, mut values) = (Vec::new(), Vec::new());
    let mut status = 0;
    hpack::fields(block, |name, value| {
        // The status comes before all others.
        if status == 0 {
            if name.read(&mut names)? == b":status" {
                let digits = value.read(&mut values)?;
                status = std::str::from_utf8(digits)
                    .ok()
                    .and_then(|digits| digits.parse().ok())
                    .unwrap_or(0);
            }
        } else if ready.taking.from_fields && status >= 200 && ready.expects(status) {
            let value = value.read(&mut values)?;
            let name = name.read(&mut names)?;
            ready
                .taking
                .field(std::str::from_utf8(name).unwrap_or(""), value, capture, &mut came.taken);
        }
        Ok(())
    })?;
    // Others only inform: the reply is still to come.
    if status >= 200 {
        came.status = Some(status);
    }
    Ok(())
}

#[cold]
fn broken(why: String) -> Failure {
    Failure::new(FailureKind::Connection, why)
}
