//! Values, as clients store them and as sessions receive them.

/// A value sent to or received from a session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// SQL null.
    Null,
    /// A 64-bit integer.
    Integer(i64),
    /// A double.
    Real(f64),
    /// Text.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
}

impl Value<'_> {
    /// Compares as SQLite does: numbers by value and before text, text by bytes and before bytes. `None` if either is
    /// null.
    pub fn compare(&self, other: &Value<'_>) -> Option<std::cmp::Ordering> {
        use Value::{Bytes, Integer, Null, Real, Text};
        match (self, other) {
            (Null, _) | (_, Null) => None,
            (Integer(a), Integer(b)) => Some(a.cmp(b)),
            (Integer(a), Real(b)) => (*a as f64).partial_cmp(b),
            (Real(a), Integer(b)) => a.partial_cmp(&(*b as f64)),
            (Real(a), Real(b)) => a.partial_cmp(b),
            (Text(a), Text(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
            (Bytes(a), Bytes(b)) => Some(a.cmp(b)),
            _ => Some(self.class().cmp(&other.class())),
        }
    }

    fn class(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Integer(_) | Self::Real(_) => 1,
            Self::Text(_) => 2,
            Self::Bytes(_) => 3,
        }
    }
}

/// An owned value, stored in a variable. Assignments reuse its buffer.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Owned {
    /// SQL null.
    #[default]
    Null,
    /// A Boolean, produced only by expressions; sessions receive 0 or 1.
    Boolean(bool),
    /// A 64-bit integer.
    Integer(i64),
    /// A double.
    Real(f64),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl Owned {
    /// Borrows the value.
    pub fn view(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Boolean(v) => Value::Integer(i64::from(*v)),
            Self::Integer(v) => Value::Integer(*v),
            Self::Real(v) => Value::Real(*v),
            Self::Text(v) => Value::Text(v),
            Self::Bytes(v) => Value::Bytes(v),
        }
    }

    /// Stores a copy of a value.
    pub fn assign(&mut self, value: Value<'_>) {
        match (&mut *self, value) {
            (Self::Text(buffer), Value::Text(text)) => {
                buffer.clear();
                buffer.push_str(text);
            }
            (Self::Bytes(buffer), Value::Bytes(bytes)) => {
                buffer.clear();
                buffer.extend_from_slice(bytes);
            }
            (slot, value) => {
                *slot = match value {
                    Value::Null => Self::Null,
                    Value::Integer(v) => Self::Integer(v),
                    Value::Real(v) => Self::Real(v),
                    Value::Text(v) => Self::Text(v.to_owned()),
                    Value::Bytes(v) => Self::Bytes(v.to_owned()),
                }
            }
        }
    }
}

/// A reusable list of values that doesn't allocate once it has grown.
#[derive(Debug, Default)]
pub struct Values {
    cells: Vec<Cell>,
    bytes: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    Text { start: usize, end: usize },
    Bytes { start: usize, end: usize },
}

impl Values {
    /// Empties the list but keeps its memory.
    #[inline]
    pub fn clear(&mut self) {
        self.cells.clear();
        self.bytes.clear();
    }

    /// Number of values.
    #[inline]
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether the list is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Appends a null.
    #[inline]
    pub fn push_null(&mut self) {
        self.cells.push(Cell::Null);
    }

    /// Appends an integer.
    #[inline]
    pub fn push_integer(&mut self, value: i64) {
        self.cells.push(Cell::Integer(value));
    }

    /// Appends a double.
    #[inline]
    pub fn push_real(&mut self, value: f64) {
        self.cells.push(Cell::Real(value));
    }

    /// Appends a copy of any value.
    pub fn push(&mut self, value: Value<'_>) {
        match value {
            Value::Null => self.push_null(),
            Value::Integer(v) => self.push_integer(v),
            Value::Real(v) => self.push_real(v),
            Value::Text(v) => self.push_text(|out| out.push_str(v)),
            Value::Bytes(v) => self.push_bytes(|out| out.extend_from_slice(v)),
        }
    }

    /// Appends the text that `write` produces.
    pub fn push_text(&mut self, write: impl FnOnce(&mut Text<'_>)) {
        let start = self.bytes.len();
        write(&mut Text(&mut self.bytes));
        self.cells.push(Cell::Text {
            start,
            end: self.bytes.len(),
        });
    }

    /// Appends the bytes that `write` appends to its buffer.
    pub fn push_bytes(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        write(&mut self.bytes);
        self.cells.push(Cell::Bytes {
            start,
            end: self.bytes.len(),
        });
    }

    /// The values, in order.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Value<'_>> {
        self.cells.iter().map(|cell| self.resolve(*cell))
    }

    /// The value at an index, if it is an integer. A fast path for the most common type.
    #[inline(always)]
    pub fn integer(&self, index: usize) -> Option<i64> {
        match self.cells.get(index) {
            Some(Cell::Integer(v)) => Some(*v),
            _ => None,
        }
    }

    /// The value at an index; `None` past the end.
    #[inline]
    pub fn get(&self, index: usize) -> Option<Value<'_>> {
        self.cells.get(index).map(|cell| self.resolve(*cell))
    }

    #[inline]
    fn resolve(&self, cell: Cell) -> Value<'_> {
        match cell {
            Cell::Null => Value::Null,
            Cell::Integer(v) => Value::Integer(v),
            Cell::Real(v) => Value::Real(v),
            // `Text` methods alone write between these bounds, and they append whole strings.
            Cell::Text { start, end } => Value::Text(std::str::from_utf8(&self.bytes[start..end]).unwrap_or_default()),
            Cell::Bytes { start, end } => Value::Bytes(&self.bytes[start..end]),
        }
    }
}

/// Appends text to a buffer.
pub struct Text<'a>(&'a mut Vec<u8>);

impl Text<'_> {
    /// Appends a string.
    #[inline]
    pub fn push_str(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Appends ASCII characters; others are replaced by `?`.
    #[inline]
    pub fn push_ascii(&mut self, bytes: &[u8]) {
        if bytes.is_ascii() {
            self.0.extend_from_slice(bytes);
        } else {
            self.0
                .extend(bytes.iter().map(|b| if b.is_ascii() { *b } else { b'?' }));
        }
    }
}

impl std::fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pushed_values_are_returned(items in proptest::collection::vec(prop_oneof![
            Just(Owned::Null),
            any::<i64>().prop_map(Owned::Integer),
            (-1e300f64..1e300).prop_map(Owned::Real),
            ".*".prop_map(Owned::Text),
            proptest::collection::vec(any::<u8>(), 0..40).prop_map(Owned::Bytes),
        ], 0..20)) {
            let mut values = Values::default();
            for _ in 0..2 {
                values.clear();
                for item in &items {
                    values.push(item.view());
                }
                prop_assert_eq!(values.len(), items.len());
                for (item, value) in items.iter().zip(values.iter()) {
                    prop_assert_eq!(item.view(), value);
                }
            }
        }

        #[test]
        fn assigning_replaces(first in ".*", second in ".*") {
            let mut slot = Owned::Text(first);
            slot.assign(Value::Text(&second));
            prop_assert_eq!(slot, Owned::Text(second));
        }
    }

    #[test]
    fn null_is_not_comparable() {
        assert_eq!(Value::Null.compare(&Value::Null), None);
        assert_eq!(Value::Integer(1).compare(&Value::Null), None);
    }

    #[test]
    fn numbers_come_before_text() {
        assert_eq!(
            Value::Integer(9).compare(&Value::Text("1")),
            Some(std::cmp::Ordering::Less)
        );
        assert_eq!(
            Value::Integer(2).compare(&Value::Real(1.5)),
            Some(std::cmp::Ordering::Greater)
        );
    }
}
