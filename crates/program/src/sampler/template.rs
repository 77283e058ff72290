//! The template of a string: literal pieces, and places for values.

use super::scope::Scope;
use super::{Kind, Sampler};
use crate::expression::Scalar;
use crate::value::Text;
use std::fmt::Write as _;

/// A parsed template.
#[derive(Debug, Clone)]
pub(super) struct Template {
    /// One more than there are places.
    pieces: Box<[String]>,
    places: Box<[Place]>,
}

/// How the value of a place is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// As it is.
    Plain,
    /// With zeros on the left, to this number of characters.
    Padded(usize),
    /// With this number of decimals.
    Decimals(usize),
}

/// Maximum width and number of decimals.
const WIDEST: usize = 99;

impl Template {
    /// Parses a template. What isn't `{}`, `{:0N}` or `{:.N}` is literal.
    pub(super) fn parse(text: &str) -> Self {
        let (mut pieces, mut places) = (Vec::new(), Vec::new());
        let (mut piece, mut rest) = (String::new(), text);
        while let Some(at) = rest.find('{') {
            piece.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some((place, length)) = Place::parse(rest) {
                pieces.push(std::mem::take(&mut piece));
                places.push(place);
                rest = &rest[length..];
            } else {
                piece.push('{');
                rest = &rest[1..];
            }
        }
        piece.push_str(rest);
        pieces.push(piece);
        Self {
            pieces: pieces.into(),
            places: places.into(),
        }
    }

    /// Number of places.
    pub(super) fn places(&self) -> usize {
        self.places.len()
    }

    /// Writes the template with one value per place.
    pub(super) fn write(&self, scope: &mut Scope<'_>, parts: &[Sampler], text: &mut Text<'_>) {
        for ((piece, place), part) in self.pieces.iter().zip(&self.places).zip(parts) {
            text.push_str(piece);
            match place {
                Place::Plain => part.write(scope, text),
                place => part.write_formatted(scope, *place, text),
            }
        }
        text.push_str(&self.pieces[self.places.len()]);
    }
}

impl Place {
    /// Parses the place that a text begins with, and returns its length.
    fn parse(text: &str) -> Option<(Self, usize)> {
        let (inner, _) = text.strip_prefix('{')?.split_once('}')?;
        let place = match inner.as_bytes() {
            [] => Self::Plain,
            [b':', b'0', ..] => Self::Padded(number(&inner[2..])?),
            [b':', b'.', ..] => Self::Decimals(number(&inner[2..])?),
            _ => return None,
        };
        Some((place, inner.len() + 2))
    }
}

fn number(digits: &str) -> Option<usize> {
    let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|number| all_digits && *number <= WIDEST)
}

impl Sampler {
    fn write_formatted(&self, scope: &mut Scope<'_>, place: Place, text: &mut Text<'_>) {
        let value = match &self.0 {
            // A string of digits stays a string: its own zeros count.
            Kind::Text { .. } | Kind::Characters { .. } | Kind::Words { .. } => None,
            _ => self.scalar(scope, "").ok(),
        };
        let _ = match (value, place) {
            (Some(Scalar::Integer(v)), Place::Padded(width)) => write!(text, "{v:0width$}"),
            (Some(Scalar::Integer(v)), Place::Decimals(count)) => write!(text, "{:.count$}", v as f64),
            (Some(Scalar::Double(v)), Place::Padded(width)) => write!(text, "{v:0width$}"),
            (Some(Scalar::Double(v)), Place::Decimals(count)) => write!(text, "{v:.count$}"),
            _ => {
                self.write(scope, text);
                Ok(())
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_that_are_no_place_are_literal() {
        for (text, pieces, places) in [
            ("a{}b", vec!["a", "b"], vec![Place::Plain]),
            (
                "{:05}-{:.2}",
                vec!["", "-", ""],
                vec![Place::Padded(5), Place::Decimals(2)],
            ),
            ("{x}{:5}{:0}{", vec!["{x}{:5}{:0}{"], vec![]),
            ("{{}}", vec!["{", "}"], vec![Place::Plain]),
            ("{:0100}", vec!["{:0100}"], vec![]),
        ] {
            let template = Template::parse(text);
            assert_eq!(*template.pieces, *pieces, "{text}");
            assert_eq!(*template.places, *places, "{text}");
        }
    }
}
