//! Counting sort, for sorting by small integers.

/// A counting sort and its working memory.
#[derive(Debug)]
pub struct CountingSort<E> {
    sorted: Vec<E>,
    /// Position of the next element with each key.
    places: Vec<u32>,
}

impl<E> Default for CountingSort<E> {
    fn default() -> Self {
        CountingSort {
            sorted: Vec::new(),
            places: Vec::new(),
        }
    }
}

impl<E: Copy> CountingSort<E> {
    /// Sorts stably by a key below `keys`.
    pub fn sort(&mut self, elements: &mut Vec<E>, keys: usize, key: impl Fn(&E) -> usize) {
        if elements.len() < keys / 16 {
            return elements.sort_by_key(key); // the time for counting grows with the keys
        }
        self.places.clear();
        self.places.resize(keys, 0);
        for element in elements.iter() {
            self.places[key(element)] += 1;
        }
        let mut begin = 0;
        for place in &mut self.places {
            begin += std::mem::replace(place, begin);
        }
        self.sorted.clear();
        self.sorted.extend_from_slice(elements);
        for element in elements.iter() {
            let place = &mut self.places[key(element)];
            self.sorted[*place as usize] = *element;
            *place += 1;
        }
        std::mem::swap(elements, &mut self.sorted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sorts_as_the_standard_library_does(
            keys in prop::collection::vec(0..40_usize, 0..200),
            most in prop::sample::select(vec![40, 100_000]),
        ) {
            let mut elements: Vec<(usize, usize)> =
                keys.into_iter().enumerate().map(|(n, key)| (key, n)).collect();
            let mut expected = elements.clone();
            expected.sort_by_key(|(key, _)| *key);
            CountingSort::default().sort(&mut elements, most, |(key, _)| *key);
            prop_assert_eq!(elements, expected);
        }
    }
}
