//! Runs SQLite's statements so that callgrind can attribute instructions to groups of statements, and hashes their
//! rows.
//!
//! Each group has its own function, which is the only one that calls the library for its statements. So callgrind's
//! inclusive cost of the calls from that function into the library is the exact instruction count of the group. The
//! ordinary session is unaffected.

use super::tally::{add, chain, value_hash};
use super::{CONTROL, Prepared, SqliteSession};
use crate::sql_text::Dialect;
use crate::sqlite::target::SqliteTarget;
use crate::sqlite::{SqliteEngine, Watch, fixed_vfs};
use dbdyno_engine::probe::{Probe, Tally};
use dbdyno_engine::{Capture, Control, Engine, Facts, Failure, Marks, Rows, Session, SessionCounters, check_count};
use dbdyno_program::value::Values;
use dbdyno_protocol::plan::document::{FailureKind, PrepareMode, Statement};
use dbdyno_protocol::plan::transaction::BeginMode;
use libsqlite3_sys as ffi;
use std::hint::black_box;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

/// A SQLite library whose statements are counted by group.
pub struct CountedEngine {
    engine: SqliteEngine,
    groups: Arc<[u8]>,
    tallies: Arc<Mutex<Vec<Tally>>>,
}

impl CountedEngine {
    /// Loads and configures the library, and fixes its clock and random seed. `groups`: the group of each statement.
    pub fn new(
        target: &SqliteTarget,
        statements: &[Statement],
        prepare: PrepareMode,
        groups: &[u8],
    ) -> Result<Self, Failure> {
        let wrong = |message: String| Err(Failure::new(FailureKind::Other, message));
        if groups.len() != statements.len() {
            return wrong(format!("{} statements have {} groups", statements.len(), groups.len()));
        }
        if let Some(group) = groups.iter().find(|group| usize::from(**group) >= GROUPS.len()) {
            return wrong(format!(
                "group {group} does not exist; groups are 0 to {}",
                GROUPS.len() - 1
            ));
        }
        let engine = SqliteEngine::new(target, statements, prepare, Watch::default())?;
        fixed_vfs::register(engine.api)?;
        Ok(Self {
            engine,
            groups: groups.into(),
            tallies: Arc::new(Mutex::new(vec![Tally::default(); GROUPS.len()])),
        })
    }
}

impl Probe for CountedEngine {
    fn tallies(&self) -> Option<Vec<Tally>> {
        Some(self.tallies.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

impl Engine for CountedEngine {
    type Session = CountedSession;

    async fn connect(&self, _client: u32) -> Result<CountedSession, Failure> {
        Ok(CountedSession {
            session: self.engine.open()?,
            groups: Arc::clone(&self.groups),
            tallies: vec![Tally::default(); GROUPS.len()],
            all: Arc::clone(&self.tallies),
        })
    }

    fn facts(&self) -> Result<Facts, Failure> {
        self.engine.facts()
    }

    fn probe(&self) -> &dyn Probe {
        self
    }
}

/// A session that runs each statement in the function of its group.
pub struct CountedSession {
    session: SqliteSession,
    groups: Arc<[u8]>,
    tallies: Vec<Tally>,
    all: Arc<Mutex<Vec<Tally>>>,
}

/// A call of the session.
enum Call<'a, 'c> {
    Execute(usize, &'a Values, Capture<'c>, &'a mut Marks),
    Control(Control),
}

/// The functions of the groups. Each contains a different number, so that the linker doesn't merge identical ones.
macro_rules! groups {
    ($($number:literal $name:ident),+ $(,)?) => {
        $(
            #[unsafe(no_mangle)]
            #[inline(never)]
            fn $name(session: &mut CountedSession, call: Call<'_, '_>) -> Result<Rows, Failure> {
                session.carry_out(black_box($number), call)
            }
        )+

        const GROUPS: &[fn(&mut CountedSession, Call<'_, '_>) -> Result<Rows, Failure>] = &[$($name),+];
    };
}

groups! {
    0 dbdyno_group_00, 1 dbdyno_group_01, 2 dbdyno_group_02, 3 dbdyno_group_03,
    4 dbdyno_group_04, 5 dbdyno_group_05, 6 dbdyno_group_06, 7 dbdyno_group_07,
    8 dbdyno_group_08, 9 dbdyno_group_09, 10 dbdyno_group_10, 11 dbdyno_group_11,
    12 dbdyno_group_12, 13 dbdyno_group_13, 14 dbdyno_group_14, 15 dbdyno_group_15,
    16 dbdyno_group_16, 17 dbdyno_group_17, 18 dbdyno_group_18, 19 dbdyno_group_19,
    20 dbdyno_group_20, 21 dbdyno_group_21, 22 dbdyno_group_22, 23 dbdyno_group_23,
    24 dbdyno_group_24, 25 dbdyno_group_25, 26 dbdyno_group_26, 27 dbdyno_group_27,
    28 dbdyno_group_28, 29 dbdyno_group_29, 30 dbdyno_group_30, 31 dbdyno_group_31,
    32 dbdyno_group_32, 33 dbdyno_group_33, 34 dbdyno_group_34, 35 dbdyno_group_35,
    36 dbdyno_group_36, 37 dbdyno_group_37, 38 dbdyno_group_38, 39 dbdyno_group_39,
    40 dbdyno_group_40, 41 dbdyno_group_41, 42 dbdyno_group_42, 43 dbdyno_group_43,
    44 dbdyno_group_44, 45 dbdyno_group_45, 46 dbdyno_group_46, 47 dbdyno_group_47,
    48 dbdyno_group_48, 49 dbdyno_group_49, 50 dbdyno_group_50, 51 dbdyno_group_51,
    52 dbdyno_group_52, 53 dbdyno_group_53, 54 dbdyno_group_54, 55 dbdyno_group_55,
    56 dbdyno_group_56, 57 dbdyno_group_57, 58 dbdyno_group_58, 59 dbdyno_group_59,
    60 dbdyno_group_60, 61 dbdyno_group_61, 62 dbdyno_group_62, 63 dbdyno_group_63,
}

const BEGIN: usize = 0;
const COMMIT: usize = 1;
const ROLLBACK: usize = 2;

impl CountedSession {
    #[inline(always)]
    fn carry_out(&mut self, group: usize, call: Call<'_, '_>) -> Result<Rows, Failure> {
        let (result, tally) = match call {
            Call::Execute(index, params, capture, marks) => self.session.run_counted(index, params, capture, marks)?,
            Call::Control(control) => self.session.control_counted(control)?,
        };
        add(&mut self.tallies[group], &tally);
        Ok(result)
    }
}

impl SqliteSession {
    /// Like `run_statement`, but always inlined.
    #[inline(always)]
    fn run_counted(
        &mut self,
        index: usize,
        params: &Values,
        capture: Capture<'_>,
        marks: &mut Marks,
    ) -> Result<(Rows, Tally), Failure> {
        let mut prepared = self.prepared[index];
        let kept = !prepared.statement.is_null();
        if !kept {
            prepared = if self.prepare == PrepareMode::Never {
                let mut text = std::mem::take(&mut self.text);
                self.templates[index].render(params, &Dialect::STANDARD, &mut text);
                let parsed = self.parse_here(&text);
                self.text = text;
                parsed.map_err(|failure| self.named(index, failure))?.0
            } else {
                let sql = &self.statements[index].sql;
                self.parse_here(sql).map_err(|failure| self.named(index, failure))?.0
            };
            marks.note_prepared();
        }
        if prepared.statement.is_null() {
            return Err(self.named(index, Failure::new(FailureKind::Other, "the statement is empty")));
        }
        if self.prepare != PrepareMode::Never {
            check_count(prepared.parameters as usize, params.len()).map_err(|failure| self.named(index, failure))?;
            for place in 0..params.len() {
                match self.bind_here(prepared.statement, place, params) {
                    ffi::SQLITE_OK => {}
                    code => return Err(self.named(index, self.failure(code))),
                }
            }
        }
        let result = self.step_counted(&prepared, capture, marks);
        if self.prepare == PrepareMode::Once {
            self.prepared[index] = prepared;
        } else {
            // SAFETY: it was prepared above, and no reference to it remains.
            unsafe { (self.api.finalize)(prepared.statement) };
        }
        result.map_err(|failure| self.named(index, failure))
    }

    /// Like `run`, but hashes the rows.
    #[inline(always)]
    fn step_counted(
        &self,
        prepared: &Prepared,
        mut capture: Capture<'_>,
        marks: &mut Marks,
    ) -> Result<(Rows, Tally), Failure> {
        let statement = prepared.statement;
        let mut tally = Tally {
            executions: 1,
            ..Tally::default()
        };
        // SAFETY: the statement belongs to this session and is not finalized while it runs.
        let mut code = unsafe { (self.api.step)(statement) };
        marks.note_first_row();
        if !capture.is_empty() {
            if code == ffi::SQLITE_ROW {
                for column in 0..prepared.columns.min(capture.len() as i32) {
                    capture.take(column as usize, self.column(statement, column));
                }
            } else {
                capture.clear();
            }
        }
        while code == ffi::SQLITE_ROW {
            tally.rows += 1;
            let mut row = 0;
            for column in 0..prepared.columns {
                row = value_hash(row, self.column(statement, column));
            }
            tally.ordered = chain(tally.ordered, row);
            tally.unordered = tally.unordered.wrapping_add(row);
            // SAFETY: as above.
            code = unsafe { (self.api.step)(statement) };
        }
        if code != ffi::SQLITE_DONE {
            return Err(self.give_up(statement, code));
        }
        // SAFETY: as above.
        unsafe {
            if !prepared.readonly {
                tally.changed = (self.api.changes)(self.db) as u64;
            }
            match (self.api.reset)(statement) {
                ffi::SQLITE_OK => {
                    let rows = Rows {
                        returned: tally.rows,
                        changed: tally.changed,
                    };
                    Ok((rows, tally))
                }
                code => Err(self.failure(code)),
            }
        }
    }

    /// Like `run_control`, but always inlined.
    #[inline(always)]
    fn control_counted(&mut self, control: Control) -> Result<(Rows, Tally), Failure> {
        let which = match control {
            Control::Begin(BeginMode::Immediate) => 1,
            Control::Begin(BeginMode::Exclusive) => 2,
            // SQLite has no other isolation levels.
            Control::Begin(_) => 0,
            Control::Commit => 3,
            // SAFETY: the connection is open.
            Control::Rollback if unsafe { (self.api.get_autocommit)(self.db) } != 0 => {
                return Ok((Rows::default(), Tally::default()));
            }
            Control::Rollback => 4,
        };
        let mut prepared = self.control[which];
        if prepared.statement.is_null() {
            prepared = self.parse_here(CONTROL[which])?.0;
        }
        let result = self.step_counted(&prepared, Capture::nothing(), &mut Marks::new(None));
        if self.prepare == PrepareMode::Once {
            self.control[which] = prepared;
        } else {
            // SAFETY: it was prepared above, and no reference to it remains.
            unsafe { (self.api.finalize)(prepared.statement) };
        }
        result
    }

    /// Adds the name of the failed statement to a failure.
    #[cold]
    fn named(&self, index: usize, failure: Failure) -> Failure {
        let name = &self.statements[index].name;
        failure.explained(|message| format!("{name}: {message}"))
    }
}

impl Session for CountedSession {
    async fn prepare_first(&mut self, count: usize) -> Result<(), Failure> {
        self.session.prepare_first(count).await
    }

    fn execute(
        &mut self,
        statement: usize,
        params: &Values,
        capture: Capture<'_>,
        marks: &mut Marks,
    ) -> Poll<Result<Rows, Failure>> {
        let run = GROUPS[usize::from(self.groups[statement])];
        Poll::Ready(run(self, Call::Execute(statement, params, capture, marks)))
    }

    fn control(&mut self, control: Control) -> Poll<Result<(), Failure>> {
        let group = match control {
            Control::Begin(_) => BEGIN,
            Control::Commit => COMMIT,
            Control::Rollback => ROLLBACK,
        };
        Poll::Ready(GROUPS[group](self, Call::Control(control)).map(drop))
    }

    fn counters(&mut self) -> SessionCounters {
        self.session.counters()
    }

    async fn close(self) -> Result<(), Failure> {
        drop(self);
        Ok(())
    }
}

impl Drop for CountedSession {
    fn drop(&mut self) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        for (sum, tally) in all.iter_mut().zip(&self.tallies) {
            if tally.executions > 0 {
                add(sum, tally);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::server::net::block_on;

    fn engine(sql: &str, groups: &[u8]) -> Result<CountedEngine, Failure> {
        let target = serde_json::from_value(serde_json::json!({"path": ":memory:"})).expect("a target");
        let statement = Statement::new("line 1", sql);
        CountedEngine::new(&target, &[statement], PrepareMode::Once, groups)
    }

    fn run(sql: &str) -> Result<Tally, Failure> {
        let engine = engine(sql, &[7])?;
        let mut session = block_on(engine.connect(0))?;
        for _ in 0..2 {
            let Poll::Ready(rows) = session.execute(0, &Values::default(), Capture::nothing(), &mut Marks::new(None))
            else {
                panic!("SQLite never waits");
            };
            rows?;
        }
        drop(session);
        let tallies = engine.tallies().unwrap_or_default();
        assert_eq!(tallies.iter().filter(|tally| tally.executions > 0).count(), 1);
        Ok(tallies[7])
    }

    #[test]
    fn rows_are_hashed_with_and_without_their_order() {
        let up = run("values (1, 'a'), (2, null), (3, 2.5)").unwrap();
        let down = run("values (3, 2.5), (2, null), (1, 'a')").unwrap();
        assert_eq!((up.executions, up.rows, up.changed), (2, 6, 0));
        assert_eq!(up.unordered, down.unordered);
        assert_ne!(up.ordered, down.ordered);
    }

    #[test]
    fn other_values_and_other_types_have_other_hashes() {
        let texts = [
            "values (1)",
            "values (2)",
            "values ('1')",
            "values (1.0)",
            "values (null)",
            "values (x'31')",
            "values (1), (1)",
        ];
        let hashes: std::collections::HashSet<u64> = texts.iter().map(|sql| run(sql).unwrap().unordered).collect();
        assert_eq!(hashes.len(), texts.len());
    }

    #[test]
    fn the_clock_is_fixed() {
        let now = run("select datetime('now'), julianday('now')").unwrap();
        let fixed = run("values ('2026-01-01 00:00:00', 2461041.5)").unwrap();
        assert_eq!(now.unordered, fixed.unordered);
    }

    #[test]
    fn failures_name_their_statement() {
        let failure = run("select * from nowhere").unwrap_err();
        assert!(
            failure.message.starts_with("line 1: no such table"),
            "{}",
            failure.message
        );
    }

    #[test]
    fn unknown_groups_are_refused() {
        assert!(engine("values (1)", &[64]).is_err());
        assert!(engine("values (1)", &[]).is_err());
    }
}
