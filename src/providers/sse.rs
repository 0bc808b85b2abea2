//! Parser of server-sent events; chunks may be cut anywhere. It returns only the data fields: every vendor repeats the
//! event type there.

/// Bounds the buffer against a broken or hostile server; no real event is this long.
const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

#[derive(Debug, Default)]
pub struct EventParser {
    /// Bytes after the last complete line.
    rest: Vec<u8>,
    /// Data lines of the unfinished event.
    data: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct EventTooLong;

impl EventParser {
    /// Returns the data of every event that these bytes complete.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, EventTooLong> {
        let mut complete = Vec::new();
        self.rest.extend_from_slice(bytes);
        let mut start = 0;
        while let Some(length) = self.rest[start..].iter().position(|byte| *byte == b'\n') {
            let line = &self.rest[start..start + length];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                complete.extend(take_event(&mut self.data));
            } else if let Some(data) = line.strip_prefix(b"data:") {
                let data = data.strip_prefix(b" ").unwrap_or(data);
                if !self.data.is_empty() {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(data);
            }
            start += length + 1;
        }
        self.rest.drain(..start);
        match self.rest.len() + self.data.len() > MAX_EVENT_BYTES {
            true => Err(EventTooLong),
            false => Ok(complete),
        }
    }

    /// Ends the stream. Some servers omit the empty line after the last event.
    pub fn finish(mut self) -> Result<Vec<String>, EventTooLong> {
        self.push(b"\n\n")
    }
}

fn take_event(data: &mut Vec<u8>) -> Option<String> {
    let data = std::mem::take(data);
    (!data.is_empty()).then(|| String::from_utf8_lossy(&data).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn comments_event_names_and_all_line_endings_are_parsed() {
        let mut events = EventParser::default();
        let text =
            ": hello\r\nevent: ping\r\ndata: {\"a\":1}\r\n\r\ndata:two\ndata: lines\n\nid: 1\n\ndata: last";
        assert_eq!(events.push(text.as_bytes()).unwrap(), ["{\"a\":1}", "two\nlines"]);
        assert_eq!(events.finish().unwrap(), ["last"]);
    }

    #[test]
    fn an_endless_event_is_an_error() {
        let mut events = EventParser::default();
        assert_eq!(events.push(&vec![b'x'; MAX_EVENT_BYTES + 1]), Err(EventTooLong));
    }

    proptest! {
        #[test]
        fn chunk_boundaries_do_not_change_the_events(
            texts in prop::collection::vec("[a-zä{}]{1,12}", 1..8),
            cuts in prop::collection::vec(1..9usize, 1..80),
        ) {
            let wire: String = texts.iter().map(|text| format!("data: {text}\n\n")).collect();
            let mut bytes = wire.as_bytes();
            let mut events = EventParser::default();
            let mut read = Vec::new();
            for cut in cuts.into_iter().cycle() {
                let (piece, rest) = bytes.split_at(cut.min(bytes.len()));
                read.extend(events.push(piece).unwrap());
                bytes = rest;
                if bytes.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(read, texts);
        }
    }
}
