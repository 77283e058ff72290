//! The connection of a process to the recorder, with a buffer of bounded size.

use crate::{IS_ACTIVE, now};
use dbdyno_reports::{Execution, Lines};
use libc::{c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// The environment variable with the recorder's socket.
pub const SOCKET: &str = "DBDYNO_STATEMENTS";

/// Bytes that wait for the recorder. If it takes longer to read them, executions are dropped and counted.
const ROOM: usize = 4 << 20;

/// This many bytes are sent at once.
const BLOCK: usize = 1 << 15;

/// After this time, what waits is sent with the next execution.
const INTERVAL_NS: u64 = 20_000_000;

/// Between two attempts to send to a socket that is full.
const RETRY_NS: u64 = 1_000_000;

/// How long the end of a process waits for the recorder.
const LAST_NS: u64 = 1_000_000_000;

/// Programs expect low numbers for the files that they open themselves.
const LEAST_DESCRIPTOR: c_int = 100;

/// The socket of the process, and the number of its inode: programs may close all descriptors, and reuse the numbers.
static DESCRIPTOR: AtomicI32 = AtomicI32::new(-1);
static INODE: AtomicU64 = AtomicU64::new(0);

/// The descriptor; `None` before the connection, or after the program has closed it.
fn descriptor() -> Option<c_int> {
    let file = DESCRIPTOR.load(Ordering::Relaxed);
    (file >= 0 && inode(file) == Some(INODE.load(Ordering::Relaxed))).then_some(file)
}

fn inode(file: c_int) -> Option<u64> {
    let mut found = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the pointer is to a place for the result, which was written if the call succeeds.
    unsafe { (libc::fstat(file, found.as_mut_ptr()) == 0).then(|| found.assume_init().st_ino) }
}

/// Closes the connection of the parent process.
pub fn close_inherited() {
    if let Some(file) = descriptor() {
        // SAFETY: it is this library's descriptor.
        unsafe { libc::close(file) };
    }
    DESCRIPTOR.store(-1, Ordering::Relaxed);
}

/// Takes the executions of a process.
#[derive(Debug, Default)]
pub struct Reporter {
    lines: Lines,
    sent: usize,
    dropped: u64,
    /// When the next attempt to send is due.
    due: u64,
}

impl Reporter {
    /// Adds an execution, or counts it as dropped.
    pub fn add(&mut self, execution: &Execution, now: u64) {
        if self.waiting() + execution.size() > ROOM {
            self.dropped += 1;
        } else {
            if self.dropped > 0 && self.lines.dropped(self.dropped).is_ok() {
                self.dropped = 0;
            }
            // Writing to memory doesn't fail.
            let _ = self.lines.execution(execution);
        }
        if now >= self.due || (self.waiting() >= BLOCK && self.sent == 0) {
            self.send(now);
        }
    }

    fn waiting(&self) -> usize {
        self.lines.bytes.len() - self.sent
    }

    /// Sends what waits, as far as the socket takes it.
    pub fn send(&mut self, now: u64) {
        self.due = now + INTERVAL_NS;
        let Some(file) = self.connected() else {
            return;
        };
        while let Some(rest) = self.lines.bytes.get(self.sent..).filter(|rest| !rest.is_empty()) {
            // SAFETY: the slice has this address and length.
            let sent = unsafe {
                libc::send(
                    file,
                    rest.as_ptr().cast::<c_void>(),
                    rest.len(),
                    libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL,
                )
            };
            match usize::try_from(sent) {
                Ok(sent) => self.sent += sent,
                Err(_) if error() == libc::EINTR => {}
                Err(_) if error() == libc::EAGAIN => {
                    self.due = now + RETRY_NS;
                    return;
                }
                // The recorder is gone.
                Err(_) => return IS_ACTIVE.store(false, Ordering::Relaxed),
            }
        }
        self.lines.bytes.clear();
        self.sent = 0;
    }

    /// Sends what waits before the process ends, and waits for the recorder if it is a little behind.
    pub fn end(&mut self) {
        let began = now();
        if self.dropped > 0 && self.lines.dropped(self.dropped).is_ok() {
            self.dropped = 0;
        }
        while IS_ACTIVE.load(Ordering::Relaxed) && self.waiting() > 0 {
            self.send(now());
            let rest = LAST_NS.saturating_sub(now() - began);
            let Some(fd) = descriptor().filter(|_| rest > 0) else {
                return;
            };
            let mut file = libc::pollfd {
                fd,
                events: libc::POLLOUT,
                revents: 0,
            };
            // SAFETY: the pointer refers to one live value.
            unsafe { libc::poll(&raw mut file, 1, (rest / 1_000_000) as c_int) };
        }
    }

    fn connected(&mut self) -> Option<c_int> {
        if let Some(file) = descriptor() {
            return Some(file);
        }
        if DESCRIPTOR.load(Ordering::Relaxed) >= 0 {
            // The new connection begins with a whole line, and doesn't know the statements.
            let lost = self
                .lines
                .bytes
                .iter()
                .skip(self.sent)
                .filter(|byte| **byte == b'\n')
                .count();
            self.dropped += lost as u64;
            self.lines = Lines::default();
            self.sent = 0;
        }
        match connect() {
            Ok(file) => {
                INODE.store(inode(file)?, Ordering::Relaxed);
                DESCRIPTOR.store(file, Ordering::Relaxed);
                Some(file)
            }
            // The recorder hasn't accepted other processes yet.
            Err(libc::EAGAIN) => None,
            Err(_) => {
                IS_ACTIVE.store(false, Ordering::Relaxed);
                None
            }
        }
    }
}

/// Connects to the recorder. Fails with an error number.
fn connect() -> Result<c_int, c_int> {
    let path = std::env::var_os(SOCKET).ok_or(libc::ENOENT)?;
    let mut address = libc::sockaddr_un {
        sun_family: libc::AF_UNIX as libc::sa_family_t,
        sun_path: [0; 108],
    };
    if path.len() >= address.sun_path.len() {
        return Err(libc::ENAMETOOLONG);
    }
    for (place, byte) in address.sun_path.iter_mut().zip(path.as_bytes()) {
        *place = *byte as libc::c_char;
    }
    // SAFETY: the calls get descriptors that belong to this function, and the address of a live value with its size.
    unsafe {
        let low = libc::socket(
            libc::AF_UNIX,
            libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK,
            0,
        );
        if low < 0 {
            return Err(error());
        }
        let file = libc::fcntl(low, libc::F_DUPFD_CLOEXEC, LEAST_DESCRIPTOR);
        let file = if file < 0 {
            low
        } else {
            libc::close(low);
            file
        };
        let size = size_of_val(&address) as libc::socklen_t;
        if libc::connect(file, (&raw const address).cast(), size) != 0 {
            let error = error();
            libc::close(file);
            return Err(error);
        }
        Ok(file)
    }
}

fn error() -> c_int {
    // SAFETY: the location belongs to the thread.
    unsafe { *libc::__errno_location() }
}
