//! Throughput: completed transactions, divided by the time they took.
//!
//! Dividing the completions within a window by its length works if there are many. If there are few, the count is too
//! coarse: a 2 s window contains one transaction of 1.1 s, and also one of 1.9 s. So each client is measured over whole
//! transactions: all that it began in the window, from the start of the first to the end of the last, which may be
//! after the window. Their number is a stopping time, because each client decides on another transaction only when the
//! last one ends. So its expectation times the mean transaction time equals the expected total time (Wald 1944,
//! doi:10.1214/aoms/1177731235), and the quotient of the sums over clients and rounds is free of edge effects.
//!
//! Clients with many transactions are summed one by one, since they may differ in speed. For a client with few, the
//! quotient is biased upward (Jensen's inequality), so these clients are pooled: their number, times the transactions
//! they completed, divided by their total time. This is Little's law (1961, doi:10.1287/opre.9.3.383) with clients as
//! customers.
//!
//! This assumes independent clients. If one client runs while the others wait for its lock, the long waits span the
//! window's start and are left out, and whole transactions cover little of the window. In that case each transaction
//! counts with the fraction of it that is within the window, at both ends. With few transactions of varying length this
//! is biased upward, because the window begins when a transaction ends. So both estimates are stored for clients with
//! few transactions: the more plausible one is the rate, and their difference widens its interval.

use crate::report::{ClientReport, EndedBy};
pub use dbdyno_protocol::event::Rate;

/// From this many transactions of a client on, its own quotient is accurate to a thousandth.
pub const MANY: u64 = 100;

/// If the transactions of a client with many cover less than this share of the window, it waited for another client's
/// lock when the window began. Its transactions within the window are then counted.
const COVERED_BY_MANY: f64 = 0.9;

/// The rate of clients with a window of `seconds`, if its length was fixed. `elapsed_s`: actual length. `open`:
/// transactions began by the clock.
pub fn of(clients: &[ClientReport], seconds: Option<f64>, elapsed_s: f64, open: bool) -> Rate {
    let mut rate = Rate::default();
    let by_number = |client: &ClientReport| matches!(client.ended_by, EndedBy::Transactions | EndedBy::Statements);
    // If a number of transactions ended the window, clients that reached it early waited for slower ones.
    let whole = open || clients.iter().any(by_number);
    for client in clients {
        let time = client.ended.saturating_sub(client.begun) as f64 / 1e9;
        // A transaction that ended after the window counts with its fraction in it.
        let within = client.completed as f64 - if client.late { 1.0 - client.cut } else { 0.0 };
        rate.clients += 1;
        rate.client_s += time;
        if whole {
            rate.whole.completed += within;
        } else if client.completed >= MANY {
            let window_s = seconds.unwrap_or(elapsed_s);
            rate.many_per_s += if time < COVERED_BY_MANY * window_s {
                (client.led_in + within) / window_s
            } else {
                client.completed as f64 / time
            };
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
    fn the_rate_of_few_transactions_follows_from_their_times() {
        let rate = of(&[client(2, 2.2)], Some(2.0), 2.0, false);
        assert!(near(rate.per_s(), 1.0 / 1.1), "{rate:?}");
        let rate = of(&[client(2, 3.8)], Some(2.0), 2.0, false);
        assert!(near(rate.per_s(), 1.0 / 1.9), "{rate:?}");
    }

    #[test]
    fn rates_of_clients_of_different_speed_are_summed() {
        let clients = [client(1000, 1.0), client(9, 1.1)];
        assert!(near(of(&clients, Some(1.0), 1.0, false).per_s(), 1000.0 + 9.0 / 1.1));
    }

    #[test]
    fn the_rate_of_contending_clients_uses_the_window() {
        // One client has the lock nearly all the time. The other waits began before the window and end after it.
        let mut clients = [client(15, 2.0), client(1, 0.1), client(1, 0.1), client(1, 0.1)];
        for waiting in &mut clients[1..] {
            (waiting.led_in, waiting.late, waiting.cut) = (0.7, true, 0.0);
        }
        let rate = of(&clients, Some(2.0), 2.0, false);
        assert!(near(rate.per_s(), (15.0 + 3.0 * 0.7) / 2.0), "{rate:?}");
    }

    #[test]
    fn a_client_that_waited_for_another_ones_lock_counts_within_the_window() {
        // The second client waited until the window's end, and then completed one transaction of 64 µs.
        let mut waiting = client(1, 64e-6);
        (waiting.led_in, waiting.late, waiting.cut) = (0.5, true, 0.5);
        let rate = of(&[client(139, 0.4), waiting], Some(0.4), 0.4, false);
        assert!(near(rate.per_s(), (139.0 + 1.0) / 0.4), "{rate:?}");
        // The second client waited for most of the window, and then completed many transactions.
        let mut quick = client(200, 0.01);
        quick.led_in = 0.9;
        let rate = of(&[client(139, 0.4), quick], Some(0.4), 0.4, false);
        assert!(near(rate.per_s(), (139.0 + 200.9) / 0.4), "{rate:?}");
    }

    #[test]
    fn a_window_of_n_transactions_lasts_until_the_last_one() {
        let mut clients = [client(100, 1.0), client(100, 2.0)];
        for client in &mut clients {
            client.ended_by = EndedBy::Transactions;
        }
        assert!(near(of(&clients, None, 2.0, false).per_s(), 100.0));
        // A client that reached its number waited for the window's end.
        clients[1].ended_by = EndedBy::Seconds;
        assert!(near(of(&clients, Some(4.0), 4.0, false).per_s(), 50.0));
    }

    #[test]
    fn a_transaction_cut_by_the_end_of_an_open_loop_counts_partly() {
        let mut late = client(10, 2.5);
        (late.late, late.cut) = (true, 0.25);
        assert!(near(of(&[late], Some(2.0), 2.0, true).per_s(), 9.25 / 2.0));
    }

    #[test]
    fn the_rate_is_zero_if_nothing_completed() {
        assert_eq!(of(&[client(0, 3.0)], Some(2.0), 2.0, false).per_s(), 0.0);
        assert_eq!(of(&[], Some(2.0), 0.0, false).per_s(), 0.0);
    }

    proptest! {
        #[test]
        fn the_rate_of_equal_transactions_does_not_depend_on_the_window(
            milliseconds in 1u64..5_000, seconds in 1u64..8, clients in 1usize..65
        ) {
            let begun = (seconds * 1000).div_ceil(milliseconds);
            let reports = vec![client(begun, (begun * milliseconds) as f64 / 1e3); clients];
            let rate = of(&reports, Some(seconds as f64), seconds as f64, false);
            prop_assert!(near(rate.per_s(), clients as f64 * 1e3 / milliseconds as f64), "{rate:?}");
        }
    }
}
