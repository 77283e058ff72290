//! Failures by the system's error code, so that different causes of one kind stay distinguishable.

use dbdyno_engine::Failure;
pub use dbdyno_protocol::event::FailedByCode;
use dbdyno_protocol::plan::document::FailureKind;
use std::borrow::Cow;

/// Maximum number of distinct codes. A system controls the codes, and memory must not grow with them.
const MOST: usize = 20;

/// The code for failures without one, and for codes beyond [`MOST`].
const OTHER: &str = "other";

/// All failures of a trial. Each is in exactly one of the counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failures(Vec<FailedByCode>);

impl Failures {
    /// Counts a failed transaction.
    #[cold]
    pub fn count(&mut self, failure: &Failure) {
        let code = failure.code.clone().unwrap_or(Cow::Borrowed(OTHER));
        self.put(failure.kind, code, 1, &failure.message);
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Self) {
        for each in &other.0 {
            self.put(each.kind, each.code.clone(), each.count, &each.message);
        }
    }

    /// The counts, in order of first occurrence.
    pub fn all(&self) -> &[FailedByCode] {
        &self.0
    }

    fn put(&mut self, kind: FailureKind, code: Cow<'static, str>, count: u64, message: &str) {
        if self.add_to_known(kind, &code, count) {
            return;
        }
        let known = self.0.iter().filter(|each| each.code != OTHER).count();
        let code = if known < MOST { code } else { Cow::Borrowed(OTHER) };
        if !self.add_to_known(kind, &code, count) {
            self.0.push(FailedByCode {
                kind,
                code,
                count,
                message: message.to_owned(),
            });
        }
    }

    /// Adds to the count of a known code. Returns false if the code is new.
    fn add_to_known(&mut self, kind: FailureKind, code: &str, count: u64) -> bool {
        let known = self.0.iter_mut().find(|each| each.kind == kind && each.code == code);
        known.map(|each| each.count += count).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn failure((kind, code): (FailureKind, Option<u8>)) -> Failure {
        let failure = Failure::new(kind, format!("{code:?}"));
        match code {
            Some(code) => failure.coded(code.to_string()),
            None => failure,
        }
    }

    fn failures() -> impl Strategy<Value = Vec<Failure>> {
        let kind = proptest::sample::select(FailureKind::ALL.to_vec());
        let one = (kind, proptest::option::of(0u8..30)).prop_map(failure);
        proptest::collection::vec(one, 0..200)
    }

    fn counted(failures: &[Failure]) -> Failures {
        let mut counts = Failures::default();
        failures.iter().for_each(|failure| counts.count(failure));
        counts
    }

    fn of_kind(counts: &Failures, kind: FailureKind) -> u64 {
        let those = counts.all().iter().filter(|each| each.kind == kind);
        those.map(|each| each.count).sum()
    }

    proptest! {
        #[test]
        fn each_failure_is_in_one_of_few_counts(a in failures(), b in failures()) {
            let mut sum = counted(&a);
            sum.add(&counted(&b));
            for kind in FailureKind::ALL {
                let occurred = a.iter().chain(&b).filter(|failure| failure.kind == kind).count();
                prop_assert_eq!(of_kind(&sum, kind), occurred as u64);
            }
            prop_assert!(sum.all().len() <= MOST + FailureKind::ALL.len());
        }
    }

    #[test]
    fn codes_of_one_kind_are_counted_apart_with_the_first_message_of_each() {
        let status = |code: &'static str, message: &str| Failure::new(FailureKind::Status, message).coded(code);
        let counts = counted(&[status("401", "a"), status("503 full", "b"), status("401", "c")]);
        let told: Vec<_> = counts
            .all()
            .iter()
            .map(|each| (&*each.code, each.count, &*each.message))
            .collect();
        assert_eq!(told, [("401", 2, "a"), ("503 full", 1, "b")]);
    }
}
