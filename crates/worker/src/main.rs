//! The worker: reads one plan on standard input, carries it out, writes one JSON event a line on standard output.
//!
//! It ends with 0 when the plan was carried out, with 1 when it could not be (the last event says why), and with 2 when
//! the plan itself is wrong. SIGINT and SIGTERM end a measured window early; what was measured is still written. They
//! end any other task without a result.

mod amalgamation;
mod asking;
mod changes;
mod coordinated;
mod error;
mod events;
mod work;
mod writes;

use clap::{Parser, Subcommand, ValueEnum};
use dbdyno_events::Event;
use dbdyno_plan::{Plan, PlanError, Task};
use error::WorkError;
use events::Events;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

/// Set by a signal: the window is to end.
static STOP: AtomicBool = AtomicBool::new(false);

/// Set by SIGCONT: something had suspended the process.
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
        /// Of which
        #[arg(value_enum, default_value = "plan")]
        of: Of,
    },
    /// Write the source of the bundled SQLite (sqlite3.c, sqlite3.h) into a directory
    Amalgamation {
        /// The directory; it must exist
        directory: PathBuf,
    },
}

/// What is described.
#[derive(Clone, Copy, ValueEnum)]
enum Of {
    Plan,
    Event,
}

fn main() -> ExitCode {
    let events = Events;
    let result = match Arguments::parse().command {
        Some(Command::Schema { of }) => print(&match of {
            Of::Plan => dbdyno_engines::registry::plan_schema(),
            Of::Event => dbdyno_events::json_schema(),
        }),
        Some(Command::Amalgamation { directory }) => amalgamation::write(&directory),
        None => run(&events),
    };
    let Err(error) = result else { return ExitCode::SUCCESS };
    // If standard output is gone there is nobody to tell.
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

/// Makes SIGINT and SIGTERM end the process, since only trials and holds write what they have when they are stopped.
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
    // SAFETY: the handlers of this file only store to an atomic, which a signal handler may do.
    match unsafe { libc::signal(signal, handler) } {
        libc::SIG_ERR => Err(std::io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Reads the plan: a line, behind which others may follow later, or all there is.
fn read_plan() -> Result<Plan, WorkError> {
    let mut text = String::new();
    std::io::stdin().read_line(&mut text)?;
    match Plan::from_json(&text) {
        // It may go on in other lines.
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

/// Asks the kernel to kill this process when its parent ends, so that no load outlives its controller.
///
/// An error: the parent has ended already.
fn end_with_parent() -> Result<(), std::io::Error> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    // The kernel sends no signal for a parent that ended before it was asked: this process then has another parent.
    let expected: Option<i32> = std::env::var(PARENT).ok().and_then(|pid| pid.parse().ok());
    let parent = rustix::process::getppid().map(rustix::process::Pid::as_raw_pid);
    match (expected, parent) {
        (Some(expected), Some(parent)) if expected != parent => Err(std::io::Error::other(
            "the controller that started this worker has ended",
        )),
        _ => Ok(()),
    }
}
