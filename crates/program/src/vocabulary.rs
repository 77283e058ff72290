//! A fixed list of invented words that look like English. The first ones are the most frequent, as in real text.

use crate::random::{Stream, below, mix};
use crate::value::Text;
use dbdyno_protocol::plan::PlanError;
use dbdyno_protocol::plan::generator::VocabularyOf;
use rand::Rng as _;
use rand::rand_core::SeedableRng as _;
use rand_distr::{Distribution as _, Zipf};
use std::collections::HashSet;
use std::sync::Arc;

/// The words of a given size are the same in every run. The seed only determines which ones a row uses.
const SEED: u64 = 0x0D1C_7104_A41E;

/// Maximum number of words. More would take more memory than the system being measured.
const MOST: u32 = 1_000_000;

/// Attempts per word. If they are used up, no more words can be made.
const TRIES: u64 = 50;

/// Words with a rank below `SHORT` have one syllable, below `MEDIUM` two, and all others two or three: frequent words
/// are short.
const SHORT: usize = 60;
const MEDIUM: usize = 5_000;

const ONSETS: [&str; 40] = [
    "b", "bl", "br", "c", "ch", "cl", "cr", "d", "dr", "f", "fl", "fr", "g", "gl", "gr", "h", "j", "k", "l", "m", "n",
    "p", "pl", "pr", "qu", "r", "s", "sc", "sh", "sl", "sp", "st", "str", "t", "th", "tr", "v", "w", "wh", "y",
];
const VOWELS: [&str; 12] = ["a", "e", "i", "o", "u", "a", "e", "i", "o", "ai", "ea", "oo"];
const CODAS: [&str; 28] = [
    "", "", "", "", "", "", "", "", "ck", "ct", "d", "l", "ll", "m", "mp", "n", "n", "nd", "ng", "nt", "p", "r", "r",
    "s", "st", "t", "t", "x",
];

/// The words and their distribution.
#[derive(Debug, Clone)]
pub struct Vocabulary {
    words: Arc<[Box<str>]>,
    ranks: Zipf<f64>,
}

impl Vocabulary {
    /// Creates the words. `path`: the generator's place in the plan, for errors.
    pub fn new(spec: &VocabularyOf, path: &str) -> Result<Self, PlanError> {
        let wrong = |problem: String| PlanError::invalid(format!("{path}.vocabulary"), problem);
        if spec.size == 0 || spec.size > MOST {
            return Err(wrong(format!("`size` must be between 1 and {MOST}")));
        }
        let ranks = match Zipf::new(f64::from(spec.size), spec.exponent) {
            Ok(ranks) if spec.exponent > 0.0 => ranks,
            _ => return Err(wrong("`exponent` must be a number above 0".into())),
        };
        let without: Vec<String> = spec.without.iter().map(|part| part.to_lowercase()).collect();
        let words = words(spec.size as usize, &without).ok_or_else(|| {
            wrong("not enough words are possible; use a smaller `size` or exclude less with `without`".into())
        })?;
        Ok(Self { words, ranks })
    }

    /// Draws a word and appends it.
    pub fn write(&self, stream: &mut Stream, text: &mut Text<'_>) {
        let rank = (self.ranks.sample(stream) as usize).clamp(1, self.words.len());
        text.push_str(&self.words[rank - 1]);
    }
}

/// Creates distinct words, none of which contains a string in `without`. `None` if there are not enough.
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
        SHORT..MEDIUM => 2,
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

    fn spec(size: u32, without: &[&str]) -> VocabularyOf {
        VocabularyOf {
            size,
            exponent: 1.0,
            without: without.iter().map(|part| (*part).to_owned()).collect(),
        }
    }

    #[test]
    fn words_differ_and_frequent_ones_are_short() {
        let made = Vocabulary::new(&spec(20_000, &[]), "test").expect("a vocabulary");
        let different: HashSet<_> = made.words.iter().collect();
        assert_eq!(different.len(), 20_000);
        assert!(
            made.words
                .iter()
                .all(|word| word.bytes().all(|byte| byte.is_ascii_lowercase()))
        );
        let mean = |words: &[Box<str>]| words.iter().map(|word| word.len()).sum::<usize>() / words.len();
        assert!(mean(&made.words[..SHORT]) < mean(&made.words[MEDIUM..]));
    }

    #[test]
    fn no_word_contains_an_excluded_string() {
        let plain = Vocabulary::new(&spec(20_000, &[]), "test").expect("a vocabulary");
        let without = Vocabulary::new(&spec(20_000, &["TA", "str"]), "test").expect("a vocabulary");
        let is_true = |made: &Vocabulary, part: &str| made.words.iter().any(|word| word.contains(part));
        assert!(is_true(&plain, "ta") && is_true(&plain, "str"));
        assert!(!is_true(&without, "ta") && !is_true(&without, "str"));
    }

    #[test]
    fn the_first_word_is_the_most_frequent() {
        let made = Vocabulary::new(&spec(1000, &[]), "test").expect("a vocabulary");
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
        // Zipf's law: the tenth word is a tenth as frequent as the first.
        assert!((7.0..14.0).contains(&(count(1) / count(10))));
    }

    #[test]
    fn impossible_vocabularies_are_refused() {
        let problem = |spec: &VocabularyOf| Vocabulary::new(spec, "fill").unwrap_err().to_string();
        assert!(problem(&spec(0, &[])).starts_with("fill.vocabulary: `size` must be"));
        assert!(problem(&spec(10, &["a", "e", "i", "o", "u"])).contains("not enough words"));
        let flat = VocabularyOf {
            exponent: 0.0,
            ..spec(10, &[])
        };
        assert!(problem(&flat).contains("`exponent` must be"));
    }
}
