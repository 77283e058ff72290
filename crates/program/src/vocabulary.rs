//! A fixed list of invented words that look like English, of which the first are the most frequent, as in real text.

use crate::random::{Stream, below, mix};
use crate::value::Text;
use dbdyno_plan::PlanError;
use dbdyno_plan::generator::VocabularyOf;
use rand::Rng as _;
use rand::rand_core::SeedableRng as _;
use rand_distr::{Distribution as _, Zipf};
use std::collections::HashSet;
use std::sync::Arc;

/// The words of a size are the same in every run: what depends on a seed is which of them a row takes.
const SEED: u64 = 0x0D1C_7104_A41E;

/// More words than this are not made: they would take more memory than what is measured.
const MOST: u32 = 1_000_000;

/// So many tries for each word; with fewer left than this there is nothing to make words of.
const TRIES: u64 = 50;

/// Words of lower ranks than the first have one syllable, than the second two, all others two or three: frequent words
/// are short.
const SHORT: usize = 60;
const MIDDLING: usize = 5_000;

const ONSETS: [&str; 40] = [
    "b", "bl", "br", "c", "ch", "cl", "cr", "d", "dr", "f", "fl", "fr", "g", "gl", "gr", "h", "j", "k", "l", "m", "n",
    "p", "pl", "pr", "qu", "r", "s", "sc", "sh", "sl", "sp", "st", "str", "t", "th", "tr", "v", "w", "wh", "y",
];
const VOWELS: [&str; 12] = ["a", "e", "i", "o", "u", "a", "e", "i", "o", "ai", "ea", "oo"];
const CODAS: [&str; 28] = [
    "", "", "", "", "", "", "", "", "ck", "ct", "d", "l", "ll", "m", "mp", "n", "n", "nd", "ng", "nt", "p", "r", "r",
    "s", "st", "t", "t", "x",
];

/// The words, ready to be drawn.
#[derive(Debug, Clone)]
pub struct Vocabulary {
    words: Arc<[Box<str>]>,
    ranks: Zipf<f64>,
}

impl Vocabulary {
    /// Makes the words. `path` is where the generator stands in the plan, for the error.
    pub fn new(of: &VocabularyOf, path: &str) -> Result<Self, PlanError> {
        let wrong = |problem: String| PlanError::invalid(format!("{path}.vocabulary"), problem);
        if of.size == 0 || of.size > MOST {
            return Err(wrong(format!("`size` must lie from 1 to {MOST}")));
        }
        let ranks = match Zipf::new(f64::from(of.size), of.exponent) {
            Ok(ranks) if of.exponent > 0.0 => ranks,
            _ => return Err(wrong("`exponent` must be a number above 0".into())),
        };
        let without: Vec<String> = of.without.iter().map(|part| part.to_lowercase()).collect();
        let words = words(of.size as usize, &without)
            .ok_or_else(|| wrong("so many words cannot be made; take a smaller `size`, or less of `without`".into()))?;
        Ok(Self { words, ranks })
    }

    /// Draws a word and appends it.
    pub fn write(&self, stream: &mut Stream, text: &mut Text<'_>) {
        let rank = (self.ranks.sample(stream) as usize).clamp(1, self.words.len());
        text.push_str(&self.words[rank - 1]);
    }
}

/// Makes different words, none of which contains a part of `without`; none where there are not enough.
fn words(size: usize, without: &[String]) -> Option<Arc<[Box<str>]>> {
    let mut stream = Stream::seed_from_u64(mix(SEED));
    let mut known = HashSet::with_capacity(size);
    let mut words: Vec<Box<str>> = Vec::with_capacity(size);
    let mut left = TRIES * (size as u64 + 100);
    while words.len() < size {
        left = left.checked_sub(1)?;
        let word = word(words.len(), &mut stream);
        if without.iter().any(|part| word.contains(part.as_str())) || !known.insert(word.clone()) {
            continue;
        }
        words.push(word);
    }
    Some(words.into())
}

fn word(rank: usize, stream: &mut Stream) -> Box<str> {
    let syllables = match rank {
        0..SHORT => 1,
        SHORT..MIDDLING => 2,
        _ => 2 + below(stream.next_u64(), 2),
    };
    let mut word = String::new();
    for _ in 0..syllables {
        for parts in [&ONSETS[..], &VOWELS, &CODAS] {
            word.push_str(parts[below(stream.next_u64(), parts.len() as u64) as usize]);
        }
    }
    word.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(size: u32, without: &[&str]) -> VocabularyOf {
        VocabularyOf {
            size,
            exponent: 1.0,
            without: without.iter().map(|part| (*part).to_owned()).collect(),
        }
    }

    #[test]
    fn words_differ_and_frequent_ones_are_short() {
        let made = Vocabulary::new(&of(20_000, &[]), "test").expect("a vocabulary");
        let different: HashSet<_> = made.words.iter().collect();
        assert_eq!(different.len(), 20_000);
        assert!(
            made.words
                .iter()
                .all(|word| word.bytes().all(|byte| byte.is_ascii_lowercase()))
        );
        let mean = |words: &[Box<str>]| words.iter().map(|word| word.len()).sum::<usize>() / words.len();
        assert!(mean(&made.words[..SHORT]) < mean(&made.words[MIDDLING..]));
    }

    #[test]
    fn a_part_left_out_is_in_no_word() {
        let plain = Vocabulary::new(&of(20_000, &[]), "test").expect("a vocabulary");
        let without = Vocabulary::new(&of(20_000, &["TA", "str"]), "test").expect("a vocabulary");
        let holds = |made: &Vocabulary, part: &str| made.words.iter().any(|word| word.contains(part));
        assert!(holds(&plain, "ta") && holds(&plain, "str"));
        assert!(!holds(&without, "ta") && !holds(&without, "str"));
    }

    #[test]
    fn the_first_word_is_the_most_frequent() {
        let made = Vocabulary::new(&of(1000, &[]), "test").expect("a vocabulary");
        let mut stream = Stream::seed_from_u64(7);
        let mut values = crate::value::Values::default();
        for _ in 0..20_000 {
            values.push_text(|text| made.write(&mut stream, text));
        }
        let count = |rank: usize| {
            let wanted = crate::value::Value::Text(&made.words[rank - 1]);
            (0..values.len())
                .filter(|index| values.get(*index) == Some(wanted))
                .count() as f64
        };
        // Zipf's law: the tenth comes a tenth as often as the first.
        assert!((7.0..14.0).contains(&(count(1) / count(10))));
    }

    #[test]
    fn what_cannot_be_made_is_told() {
        let problem = |of: &VocabularyOf| Vocabulary::new(of, "fill").unwrap_err().to_string();
        assert!(problem(&of(0, &[])).starts_with("fill.vocabulary: `size` must lie"));
        assert!(problem(&of(10, &["a", "e", "i", "o", "u"])).contains("cannot be made"));
        let flat = VocabularyOf {
            exponent: 0.0,
            ..of(10, &[])
        };
        assert!(problem(&flat).contains("`exponent` must be"));
    }
}
