//! Sessions, in either version of HTTP.

use super::Shared;
use super::one::One;
use super::target::Version;
use super::two::Two;
use dbdyno_engine::{Capture, Control, Failure, Marks, Rows, Session, awaited};
use dbdyno_program::value::Values;
use dbdyno_protocol::plan::document::FailureKind;
use std::sync::Arc;
use std::task::Poll;

/// A session: one connection, or one per request if connections are not kept.
pub struct HttpSession {
    shared: Arc<Shared>,
    protocol: Protocol,
    /// The request whose reply is awaited.
    asked: usize,
}

enum Protocol {
    One(Box<One>),
    Two(Box<Two>),
}

impl HttpSession {
    pub(super) async fn open(shared: Arc<Shared>) -> Result<Self, Failure> {
        let protocol = match shared.way.target.version {
            Version::One => Protocol::One(Box::new(One::open(shared.clone()).await?)),
            Version::Two => Protocol::Two(Box::new(Two::open(shared.clone()).await?)),
        };
        Ok(Self {
            shared,
            protocol,
            asked: 0,
        })
    }

    /// The version of TLS.
    pub(super) fn encryption(&self) -> Option<String> {
        match &self.protocol {
            Protocol::One(one) => one.encryption(),
            Protocol::Two(two) => two.encryption(),
        }
    }
}

impl Session for HttpSession {
    /// The engine has parsed the requests.
    async fn prepare_first(&mut self, _count: usize) -> Result<(), Failure> {
        Ok(())
    }

    fn hold_up_thread(&mut self) -> Result<(), Failure> {
        match &mut self.protocol {
            Protocol::One(one) => one.hold_up_thread(),
            Protocol::Two(_) => Ok(()),
        }
    }

    #[inline]
    fn execute(
        &mut self,
        statement: usize,
        params: &Values,
        _capture: Capture<'_>,
        _marks: &mut Marks,
    ) -> Poll<Result<Rows, Failure>> {
        self.asked = statement;
        let ready = &self.shared.requests[statement];
        awaited(match &mut self.protocol {
            Protocol::One(one) => one.ask(ready, params),
            Protocol::Two(two) => two.ask(ready, params),
        })
    }

    fn control(&mut self, control: Control) -> Poll<Result<(), Failure>> {
        match control {
            // No transaction is ever open.
            Control::Rollback => Poll::Ready(Ok(())),
            Control::Begin(_) | Control::Commit => Poll::Ready(Err(Failure::new(
                FailureKind::Other,
                "HTTP has no transactions of several requests: each request is a separate transaction",
            ))),
        }
    }

    async fn answer(&mut self, mut capture: Capture<'_>, marks: &mut Marks) -> Result<Rows, Failure> {
        capture.clear();
        let ready = &self.shared.requests[self.asked];
        match &mut self.protocol {
            Protocol::One(one) => one.answer(ready, &mut capture, marks).await?,
            Protocol::Two(two) => two.answer(ready, &mut capture, marks).await?,
        }
        Ok(Rows {
            returned: 1,
            changed: 0,
        })
    }

    /// The session ends with its connection.
    async fn close(self) -> Result<(), Failure> {
        Ok(())
    }
}
