//! The rows of a result, kept while steps run for each of them.

use crate::value::{Owned, Value, Values};

/// Some columns of all rows of a result. Its memory is reused.
#[derive(Debug, Default)]
pub struct RowBuffer {
    values: Values,
    width: usize,
    rows: usize,
    next: usize,
}

impl RowBuffer {
    /// Empties the buffer for rows of `width` columns.
    pub fn begin(&mut self, width: usize) {
        self.values.clear();
        (self.width, self.rows, self.next) = (width, 0, 0);
    }

    /// Appends a column of a row; column 0 begins the next row.
    pub fn take(&mut self, column: usize, value: Value<'_>) {
        if column == 0 {
            self.pad();
            self.rows += 1;
        }
        if column < self.width {
            self.values.push(value);
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Stores the next row in variables. Returns false at the end.
    pub fn next(&mut self, slots: &[usize], variables: &mut [Owned]) -> bool {
        self.pad();
        if self.next >= self.rows {
            return false;
        }
        for (column, slot) in slots.iter().enumerate() {
            let value = self.values.get(self.next * self.width + column);
            variables[*slot].assign(value.unwrap_or(Value::Null));
        }
        self.next += 1;
        true
    }

    /// Fills up the last row, if it has fewer columns than expected.
    fn pad(&mut self) {
        while self.values.len() < self.rows * self.width {
            self.values.push_null();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_come_back_in_order(rows in proptest::collection::vec((any::<i64>(), ".*"), 0..20), given in 1usize..4) {
            let mut buffer = RowBuffer::default();
            // The second time, the memory is reused.
            for _ in 0..2 {
                buffer.begin(2);
                for (number, text) in &rows {
                    let values = [Value::Integer(*number), Value::Text(text), Value::Null];
                    values.iter().take(given).enumerate().for_each(|(column, value)| buffer.take(column, *value));
                }
                prop_assert_eq!(buffer.rows(), rows.len());
                let mut variables = vec![Owned::Null; 2];
                for (number, text) in &rows {
                    prop_assert!(buffer.next(&[1, 0], &mut variables));
                    let second = if given > 1 { Owned::Text(text.clone()) } else { Owned::Null };
                    prop_assert_eq!(&variables, &[second, Owned::Integer(*number)]);
                }
                prop_assert!(!buffer.next(&[1, 0], &mut variables));
            }
        }
    }
}
