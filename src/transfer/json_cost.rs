//! Estimates, before a document is parsed, the memory that its JSON takes as values. `[0,0,…]` takes 16 times its size and
//! `[{"a":0},…]` 80 times, so its size alone bounds nothing.

/// What one value takes at most, with the growth of the list or the map that holds it.
const VALUE_BYTES: u64 = 128;
/// A small object takes as much as this many values: its map has room for eleven fields.
const OBJECT_VALUES: u64 = 6;

/// Counts values in one pass over the bytes, which may come in parts.
#[derive(Debug, Default)]
pub struct JsonCost {
    bytes: u64,
    values: u64,
    in_text: bool,
    escaped: bool,
}

impl JsonCost {
    pub fn of(json: &[u8]) -> Self {
        let mut cost = Self::default();
        cost.add(json);
        cost
    }

    /// Counts the next part of the document.
    pub fn add(&mut self, part: &[u8]) {
        self.bytes += part.len() as u64;
        for byte in part {
            match (self.in_text, byte) {
                (true, _) if self.escaped => self.escaped = false,
                (true, b'\\') => self.escaped = true,
                (_, b'"') => self.in_text = !self.in_text,
                (false, b'{') => self.values += OBJECT_VALUES,
                (false, b',' | b'[') => self.values += 1,
                _ => {}
            }
        }
    }

    /// The memory for the values, with `copies` of the texts.
    pub fn memory(&self, copies: u64) -> u64 {
        self.bytes.saturating_mul(copies).saturating_add(self.values.saturating_mul(VALUE_BYTES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_count_and_separators_within_texts_do_not() {
        let cost = JsonCost::of(br#"{"a": [1, 2, "x,[{\",[\\"], "b": 3}"#);
        assert_eq!(cost.values, OBJECT_VALUES + 4);
        let values = cost.values * VALUE_BYTES;
        assert_eq!((cost.memory(0), cost.memory(2)), (values, values + 2 * cost.bytes));
    }

    #[test]
    fn a_document_in_parts_costs_the_same() {
        let json = br#"[{"text": "a \"quoted, [text]\" \\"}, {}, [[]], ",", "\\"]"#;
        for at in 0..json.len() {
            let mut parts = JsonCost::default();
            parts.add(&json[..at]);
            parts.add(&json[at..]);
            assert_eq!(parts.memory(1), JsonCost::of(json).memory(1), "split at {at}");
        }
    }
}
