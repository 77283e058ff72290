//! How fast the clients were: transactions completed, over the time that these took.
//!
//! Counting what ended in a window and dividing by its length is right where much ends in it. Where little does, the count
//! is a whole number over a constant: of transactions of 1.1 s a window of 2 s holds one, as it does of those of 1.9 s.
//! So each client is measured over whole transactions: all that it began in the window, from the first one's start to the
//! last one's end, which may lie after the window. The number is a stopping time (whether one more is begun is known when
//! the last has ended), so its expected value times the mean time of a transaction is the expected time (Wald 1944,
//! doi:10.1214/aoms/1177731235): the quotient of the sums over clients and rounds has no error of the ends.
//!
//! Clients with many transactions are added up one by one, since they may be of different speed. Of a client with few the
//! quotient by itself is too great on average (Jensen's inequality), so those are taken together: their number, times
//! what they completed, by the time it took all of them, which is Little's law (1961, doi:10.1287/opre.9.3.383) with
//! clients in place of customers.
//!
//! That holds for clients that do not depend on one another. Where one runs while the others wait for its lock, the long
//! waits lie across the window's start and are left out. Then the times of whole transactions cover little of the window,
//! and what counts is each transaction's part of the window, at both ends: transactions are as many as their parts. Few
//! of different length make that too great, since the window begins where one ends. So few clients have both figures, the
//! likelier one is the rate, and by how much the two differ goes into its interval.

use crate::report::{ClientReport, EndedBy};
use schemars::JsonSchema;
use serde::Serialize;

/// Transactions of a client in a window, from which on its own quotient is right to less than a thousandth.
pub const MANY: u64 = 100;

/// The share of the window that whole transactions of clients which do not depend on one another cover at least.
const COVERED: f64 = 0.5;

/// The rate of a trial in parts that can be added to those of other processes: transactions a second are `many_per_s`
/// and, where they are not nothing, what [`Rate::few_per_s`] says and `whole.completed / whole.seconds`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Rate {
    /// The sum over clients of many transactions.
    pub many_per_s: f64,
    /// Clients of few transactions.
    pub few: Few,
    /// A window that a number of transactions or statements ended, or one of an open loop: what was completed in it.
    pub whole: Whole,
    /// Seconds that the clients' transactions took, summed over clients.
    pub client_s: f64,
    /// Clients.
    pub clients: u64,
}

/// Clients that completed few transactions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Few {
    /// How many.
    pub clients: u64,
    /// What they completed.
    pub completed: u64,
    /// The time it took, summed over them.
    pub seconds: f64,
    /// What they completed of the window's own time: whole transactions, and the parts of those that its ends cut.
    pub within: f64,
    /// The window's length, summed over them.
    pub window_s: f64,
}

/// What was completed in a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Whole {
    /// Transactions; a fraction where the window's end cut some.
    pub completed: f64,
    /// The time.
    pub seconds: f64,
}

impl Rate {
    /// The rate of clients whose window was to last `seconds`; `elapsed_s`: what it lasted. `open`: their transactions began
    /// by the clock.
    pub fn of(clients: &[ClientReport], seconds: Option<f64>, elapsed_s: f64, open: bool) -> Self {
        let mut rate = Self::default();
        let by_number = |client: &ClientReport| matches!(client.ended_by, EndedBy::Transactions | EndedBy::Statements);
        // Who ended by number waited for the others.
        let whole = open || clients.iter().any(by_number);
        for client in clients {
            let time = client.ended.saturating_sub(client.begun) as f64 / 1e9;
            // What ended after a window's end counts for its part in it.
            let within = client.completed as f64 - if client.late { 1.0 - client.cut } else { 0.0 };
            rate.clients += 1;
            rate.client_s += time;
            if whole {
                rate.whole.completed += within;
            } else if client.completed >= MANY {
                rate.many_per_s += client.completed as f64 / time;
            } else {
                rate.few.clients += 1;
                rate.few.completed += client.completed;
                rate.few.seconds += time;
                rate.few.within += client.led_in + within;
                rate.few.window_s += seconds.unwrap_or(elapsed_s);
            }
        }
        if whole {
            let cut = clients.iter().any(|client| !by_number(client));
            rate.whole.seconds = seconds.filter(|_| cut).unwrap_or(elapsed_s);
        }
        rate
    }

    /// Transactions a second.
    pub fn per_s(&self) -> f64 {
        let by = |above: f64, below: f64| if below > 0.0 { above / below } else { 0.0 };
        self.many_per_s + self.few_per_s() + by(self.whole.completed, self.whole.seconds)
    }

    /// Transactions a second of the clients of few.
    ///
    /// `clients · completed / seconds`; but `clients · within / window_s` beside clients of many, and where several
    /// clients' transactions cover less than half the window.
    fn few_per_s(&self) -> f64 {
        let few = &self.few;
        let depend = self.many_per_s > 0.0 || few.seconds < COVERED * few.window_s;
        let (done, seconds) = if few.clients > 1 && depend {
            (few.within, few.window_s)
        } else {
            (few.completed as f64, few.seconds)
        };
        if seconds > 0.0 {
            few.clients as f64 * done / seconds
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn client(completed: u64, seconds: f64) -> ClientReport {
        ClientReport {
            ended: 5_000_000_000 + (seconds * 1e9) as u64,
            begun: 5_000_000_000,
            completed,
            ended_by: EndedBy::Seconds,
            ..ClientReport::default()
        }
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-6 * b.abs()
    }

    #[test]
    fn few_transactions_have_the_rate_of_the_time_that_they_took() {
        let rate = Rate::of(&[client(2, 2.2)], Some(2.0), 2.0, false);
        assert!(near(rate.per_s(), 1.0 / 1.1), "{rate:?}");
        let rate = Rate::of(&[client(2, 3.8)], Some(2.0), 2.0, false);
        assert!(near(rate.per_s(), 1.0 / 1.9), "{rate:?}");
    }

    #[test]
    fn clients_of_different_speed_are_added_up() {
        let clients = [client(1000, 1.0), client(9, 1.1)];
        assert!(near(
            Rate::of(&clients, Some(1.0), 1.0, false).per_s(),
            1000.0 + 9.0 / 1.1
        ));
    }

    #[test]
    fn clients_that_wait_for_one_another_have_the_rate_of_the_window() {
        // One has the lock nearly all the time; the others' waits began before the window and end behind it.
        let mut clients = [client(15, 2.0), client(1, 0.1), client(1, 0.1), client(1, 0.1)];
        for waiting in &mut clients[1..] {
            (waiting.led_in, waiting.late, waiting.cut) = (0.7, true, 0.0);
        }
        let rate = Rate::of(&clients, Some(2.0), 2.0, false);
        assert!(near(rate.per_s(), (15.0 + 3.0 * 0.7) / 2.0), "{rate:?}");
    }

    #[test]
    fn a_number_of_transactions_took_as_long_as_the_last_of_them() {
        let mut clients = [client(100, 1.0), client(100, 2.0)];
        for client in &mut clients {
            client.ended_by = EndedBy::Transactions;
        }
        assert!(near(Rate::of(&clients, None, 2.0, false).per_s(), 100.0));
        // One that had done its number waited for the window's end.
        clients[1].ended_by = EndedBy::Seconds;
        assert!(near(Rate::of(&clients, Some(4.0), 4.0, false).per_s(), 50.0));
    }

    #[test]
    fn what_an_open_loop_s_end_cuts_counts_for_its_part() {
        let mut late = client(10, 2.5);
        (late.late, late.cut) = (true, 0.25);
        assert!(near(Rate::of(&[late], Some(2.0), 2.0, true).per_s(), 9.25 / 2.0));
    }

    #[test]
    fn nothing_completed_is_no_rate() {
        assert_eq!(Rate::of(&[client(0, 3.0)], Some(2.0), 2.0, false).per_s(), 0.0);
        assert_eq!(Rate::of(&[], Some(2.0), 0.0, false).per_s(), 0.0);
    }

    proptest! {
        #[test]
        fn equal_transactions_have_their_rate_however_the_window_cuts_them(
            milliseconds in 1u64..5_000, seconds in 1u64..8, clients in 1usize..65
        ) {
            let begun = (seconds * 1000).div_ceil(milliseconds);
            let reports = vec![client(begun, (begun * milliseconds) as f64 / 1e3); clients];
            let rate = Rate::of(&reports, Some(seconds as f64), seconds as f64, false);
            prop_assert!(near(rate.per_s(), clients as f64 * 1e3 / milliseconds as f64), "{rate:?}");
        }
    }
}
