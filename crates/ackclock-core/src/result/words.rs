//! A column of words.

use std::collections::BTreeMap;

/// Words, each stored once.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// Index into `values`, one per row.
    pub indices: Vec<i32>,
    /// The words, in order of first appearance.
    pub values: Vec<String>,
    /// Index of each word in `values`. A map, because a capture has one name for each connection.
    places: BTreeMap<String, i32>,
    /// For each word, the one that followed it last. Rows of flows come in rounds, so it is tried
    /// before the map.
    follower: Vec<i32>,
}

impl PartialEq for Words {
    fn eq(&self, other: &Self) -> bool {
        self.indices == other.indices && self.values == other.values
    }
}

impl Words {
    /// Appends a row.
    pub fn push(&mut self, word: &str) {
        let latest = self.indices.last().map(|latest| *latest as usize);
        let likely = latest.map(|latest| self.follower[latest]);
        let likely = likely.filter(|index| self.values[*index as usize] == word);
        let index = likely.unwrap_or_else(|| self.place(word));
        if let Some(latest) = latest {
            self.follower[latest] = index;
        }
        self.indices.push(index);
    }

    /// Returns the index of a word in `values`; appends the word if it is new.
    fn place(&mut self, word: &str) -> i32 {
        if let Some(place) = self.places.get(word) {
            return *place;
        }
        let place = self.values.len() as i32;
        self.places.insert(word.into(), place);
        self.values.push(word.into());
        self.follower.push(place);
        place
    }

    pub(super) fn append(&mut self, other: Words) {
        let places: Vec<i32> = other.values.iter().map(|word| self.place(word)).collect();
        self.indices.extend(
            other
                .indices
                .into_iter()
                .map(|index| places[index as usize]),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(rows: &[&str]) -> Words {
        let mut words = Words::default();
        rows.iter().for_each(|word| words.push(word));
        words
    }

    #[test]
    fn each_word_is_stored_once_in_order_of_appearance() {
        let words = words(&["b", "b", "a", "", "b", "a"]);
        assert_eq!(words.values, ["b", "a", ""]);
        assert_eq!(words.indices, [0, 0, 1, 2, 0, 1]);
    }

    #[test]
    fn rounds_of_words_that_change() {
        let rows: Vec<String> = (0..200_u32)
            .map(|row| format!("flow {}", row * row % 7 % (1 + row / 50)))
            .collect();
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        let column = words(&rows);
        let read = column.indices.iter();
        assert!(read.map(|at| &*column.values[*at as usize]).eq(rows));
    }

    #[test]
    fn columns_of_words_go_one_below_the_other() {
        let mut above = words(&["b", "a"]);
        above.append(words(&["c", "a", "c"]));
        assert_eq!(above, words(&["b", "a", "c", "a", "c"]));
        above.append(Words::default());
        assert_eq!(above.indices, [0, 1, 2, 1, 2]);
    }
}
