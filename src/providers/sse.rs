//! Server-sent events out of bytes that come in any pieces. Only the data matters to us: every vendor says in it
//! what kind of event it is.

/// One event is never this long; a server that sends more means us harm or is broken.
const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

#[derive(Debug, Default)]
pub struct Events {
    rest: Vec<u8>,
    data: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct TooLong;

impl Events {
    /// Takes in some bytes and returns the data of every event they complete.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Vec<String>, TooLong> {
        let mut complete = Vec::new();
        self.rest.extend_from_slice(bytes);
        let mut start = 0;
        while let Some(length) = self.rest[start..].iter().position(|byte| *byte == b'\n') {
            let line = &self.rest[start..start + length];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                complete.extend(finished(&mut self.data));
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
            true => Err(TooLong),
            false => Ok(complete),
        }
    }

    /// The stream is over: some servers forget the empty line after the last event.
    pub fn end(mut self) -> Result<Vec<String>, TooLong> {
        self.take(b"\n\n")
    }
}

fn finished(data: &mut Vec<u8>) -> Option<String> {
    let data = std::mem::take(data);
    (!data.is_empty()).then(|| String::from_utf8_lossy(&data).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn comments_names_and_line_ends_of_all_kinds_are_understood() {
        let mut events = Events::default();
        let text =
            ": hello\r\nevent: ping\r\ndata: {\"a\":1}\r\n\r\ndata:two\ndata: lines\n\nid: 1\n\ndata: last";
        assert_eq!(events.take(text.as_bytes()).unwrap(), ["{\"a\":1}", "two\nlines"]);
        assert_eq!(events.end().unwrap(), ["last"]);
    }

    #[test]
    fn an_event_without_an_end_is_given_up() {
        let mut events = Events::default();
        assert_eq!(events.take(&vec![b'x'; MAX_EVENT_BYTES + 1]), Err(TooLong));
    }

    proptest! {
        #[test]
        fn however_the_bytes_are_cut_the_events_are_the_same(
            texts in prop::collection::vec("[a-zä{}]{1,12}", 1..8),
            cuts in prop::collection::vec(1..9usize, 1..80),
        ) {
            let wire: String = texts.iter().map(|text| format!("data: {text}\n\n")).collect();
            let mut bytes = wire.as_bytes();
            let mut events = Events::default();
            let mut read = Vec::new();
            for cut in cuts.into_iter().cycle() {
                let (piece, rest) = bytes.split_at(cut.min(bytes.len()));
                read.extend(events.take(piece).unwrap());
                bytes = rest;
                if bytes.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(read, texts);
        }
    }
}
