//! The worker reads one plan from standard input, runs it, and writes events to standard output, one JSON object per
//! line.
//!
//! It exits with 0 if the plan was carried out, with 1 if it failed (the last event gives the reason), and with 2 if
//! the plan itself is invalid. SIGINT and SIGTERM end a measured window early; the measurements so far are still
//! written. They end any other task without a result.

mod amalgamation;
mod changes;
mod coordinator;
mod error;
mod events;
mod latency;
mod query;
mod replay;
mod result;
mod work;
mod writes;

use clap::{Parser, Subcommand, ValueEnum};
use dbdyno_protocol::event::Event;
use dbdyno_protocol::plan::{Plan, PlanError, Task};
use error::WorkError;
use events::Events;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

/// Set by a signal to end the window.
static STOP: AtomicBool = AtomicBool::new(false);

/// Set by SIGCONT: the process had been suspended.
static SUSPENDED: AtomicBool = AtomicBool::new(false);

#[derive(Parser)]
#[command(
    name = "dbdyno-worker",
    version,
    about = "Carries out one dbdyno plan: JSON on standard input, events on standard output"
)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Print the JSON Schema of plans or of events
    Schema {
        /// Which schema to print
        #[arg(value_enum, default_value = "plan")]
        of: SchemaKind,
    },
    /// Write the source of the bundled SQLite (sqlite3.c, sqlite3.h) into a directory
    Amalgamation {
        /// An existing directory
        directory: PathBuf,
    },
    /// Pass connections on to a server, and report their statements: JSON on standard input, lines of JSON on standard
    /// output
    #[cfg(feature = "servers")]
    Proxy,
    /// Replay recorded statements: JSON on standard input, lines of JSON on standard output
    Replay,
}

/// The schemas.
#[derive(Clone, Copy, ValueEnum)]
enum SchemaKind {
    Plan,
    Event,
}

fn main() -> ExitCode {
    let events = Events;
    let result = match Arguments::parse().command {
        Some(Command::Schema { of }) => print(&match of {
            SchemaKind::Plan => dbdyno_engines::registry::plan_schema(),
            SchemaKind::Event => dbdyno_protocol::event::json_schema(),
        }),
        Some(Command::Amalgamation { directory }) => amalgamation::write(&directory),
        #[cfg(feature = "servers")]
        Some(Command::Proxy) => proxy(),
        Some(Command::Replay) => replay(),
        None => run(&events),
    };
    let Err(error) = result else { return ExitCode::SUCCESS };
    // If standard output is closed, the error cannot be reported.
    let _ = events.write(&Event::Error {
        kind: error.kind(),
        message: error.to_string(),
        code: error.code().map(str::to_owned),
    });
    match error {
        WorkError::Plan(_) => ExitCode::from(2),
        _ => ExitCode::FAILURE,
    }
}

fn print(schema: &serde_json::Value) -> Result<(), WorkError> {
    writeln!(std::io::stdout(), "{schema}")?;
    Ok(())
}

fn run(events: &Events) -> Result<(), WorkError> {
    listen()?;
    let plan = read_plan()?;
    if !matches!(plan.task, Task::Trial(_) | Task::Hold(_)) {
        end_by_signals()?;
    }
    work::carry_out(&plan, events, &STOP, &SUSPENDED)
}

/// Runs the proxy until a signal stops it.
#[cfg(feature = "servers")]
fn proxy() -> Result<(), WorkError> {
    listen()?;
    Ok(dbdyno_proxy::run(&read_task()?, &STOP)?)
}

/// Replays what standard input contains after the task.
fn replay() -> Result<(), WorkError> {
    end_with_parent()?;
    replay::replay(&read_task()?)
}

/// Reads the task, the first line of standard input.
fn read_task<T: serde::de::DeserializeOwned>() -> Result<T, WorkError> {
    let mut text = String::new();
    std::io::stdin().read_line(&mut text)?;
    serde_json::from_str(&text).map_err(|error| WorkError::Output(error.into()))
}

/// Makes SIGINT and SIGTERM end the process, because only trials and locks have something to write when stopped.
fn end_by_signals() -> Result<(), std::io::Error> {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        handle(signal, libc::SIG_DFL)?;
    }
    if STOP.load(std::sync::atomic::Ordering::Relaxed) {
        // SAFETY: raising a signal has no preconditions.
        unsafe { libc::raise(libc::SIGTERM) };
    }
    Ok(())
}

fn handle(signal: libc::c_int, handler: libc::sighandler_t) -> Result<(), std::io::Error> {
    // SAFETY: the handlers in this file only store to an atomic, which is async-signal-safe.
    match unsafe { libc::signal(signal, handler) } {
        libc::SIG_ERR => Err(std::io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Reads the plan: either one line, which later lines may follow, or the whole input.
fn read_plan() -> Result<Plan, WorkError> {
    let mut text = String::new();
    std::io::stdin().read_line(&mut text)?;
    match Plan::from_json(&text) {
        // The plan may continue on further lines.
        Err(PlanError::Json(_)) => {}
        read => return Ok(read?),
    }
    std::io::stdin().read_to_string(&mut text)?;
    Ok(Plan::from_json(&text)?)
}

/// Makes SIGINT and SIGTERM set [`STOP`] and SIGCONT set [`SUSPENDED`], and ends the process with its parent.
fn listen() -> Result<(), std::io::Error> {
    extern "C" fn stop(_: libc::c_int) {
        STOP.store(true, std::sync::atomic::Ordering::Relaxed);
    }
    extern "C" fn resume(_: libc::c_int) {
        SUSPENDED.store(true, std::sync::atomic::Ordering::Relaxed);
    }
    let stop = stop as *const () as libc::sighandler_t;
    let resume = resume as *const () as libc::sighandler_t;
    for (signal, handler) in [(libc::SIGINT, stop), (libc::SIGTERM, stop), (libc::SIGCONT, resume)] {
        handle(signal, handler)?;
    }
    end_with_parent()
}

/// The environment variable with the process id of the controller that started this worker.
const PARENT: &str = "DBDYNO_PARENT";

/// Asks the kernel to kill this process when its parent exits, so that no load outlives its controller.
///
/// Fails if the parent has already exited.
fn end_with_parent() -> Result<(), std::io::Error> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    // If the parent exited before this call, the kernel sends no signal. The process then has another parent.
    let expected: Option<i32> = std::env::var(PARENT).ok().and_then(|pid| pid.parse().ok());
    let parent = rustix::process::getppid().map(rustix::process::Pid::as_raw_pid);
    match (expected, parent) {
        (Some(expected), Some(parent)) if expected != parent => Err(std::io::Error::other(
            "the controller that started this worker has ended",
        )),
        _ => Ok(()),
    }
}
