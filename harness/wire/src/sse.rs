//! Server-sent events, split from bytes that arrive in any pieces. Memory is bounded; no input panics.

/// The largest event kept, in bytes; the rest of a larger one is dropped and [`Splitter::overflowed`] says so.
pub const EVENT_CAP: usize = 16 << 20;

/// Splits a byte stream into the `data` of its events.
#[derive(Debug, Default)]
pub struct Splitter {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    after_carriage_return: bool,
    overflowed: bool,
}

impl Splitter {
    /// A splitter at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes; returns the data of the events that they complete.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut events = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            if std::mem::take(&mut self.after_carriage_return) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            match rest.iter().position(|&b| b == b'\n' || b == b'\r') {
                None => {
                    self.keep(rest);
                    break;
                }
                Some(at) => {
                    self.keep(&rest[..at]);
                    self.after_carriage_return = rest[at] == b'\r';
                    rest = &rest[at + 1..];
                    events.extend(self.end_line());
                }
            }
        }
        events
    }

    /// The end of the stream: an event whose closing blank line is missing is still given, whether or not its last line
    /// was ended, since servers that hang up early are common.
    pub fn finish(mut self) -> Option<Vec<u8>> {
        if !self.line.is_empty() {
            // A last line that nobody ended: clients of providers take it.
            self.end_line();
        }
        self.take_event()
    }

    /// Was an event larger than [`EVENT_CAP`]?
    pub fn overflowed(&self) -> bool {
        self.overflowed
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = EVENT_CAP.saturating_sub(self.line.len() + self.data.len());
        self.overflowed |= bytes.len() > room;
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn end_line(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return self.take_event();
        }
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&line);
        if let Some(value) = line.strip_prefix(b"data") {
            let value = match value {
                [] => Some(value),
                [b':', value @ ..] => Some(value.strip_prefix(b" ").unwrap_or(value)),
                _ => None,
            };
            if let Some(value) = value {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
        }
        None
    }

    fn take_event(&mut self) -> Option<Vec<u8>> {
        let data = std::mem::take(&mut self.data);
        std::mem::take(&mut self.has_data).then_some(data)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split_all(pieces: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut splitter = Splitter::new();
        let mut events: Vec<_> = pieces.iter().flat_map(|piece| splitter.feed(piece)).collect();
        events.extend(splitter.finish());
        events
    }

    #[test]
    fn comments_other_fields_and_all_line_ends_are_understood() {
        let text = b"\xEF\xBB\xBFdata: a\r\n\r\n: comment\nevent: x\ndata:b\ndata: c\n\nid: 1\n\ndata\r\rdatabase: no\n\ndata: last\n";
        assert_eq!(split_all(&[text]), [&b"a"[..], b"b\nc", b"", b"last"]);
        assert_eq!(split_all(&[b"data: a\n\ndata: unended"]), [&b"a"[..], b"unended"]);
    }

    #[test]
    fn an_event_beyond_the_cap_is_cut_and_named() {
        let mut splitter = Splitter::new();
        splitter.feed(b"data: ");
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..20 {
            splitter.feed(&piece);
        }
        assert!(splitter.overflowed());
        assert!(splitter.feed(b"\n\n")[0].len() <= EVENT_CAP);
    }

    proptest! {
        #[test]
        fn where_the_bytes_are_cut_does_not_matter(bytes in proptest::collection::vec(
            prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'd'), Just(b'a'), Just(b't'), Just(b':'), Just(b' '), any::<u8>()], 0..200),
            cut in any::<prop::sample::Index>(), second in any::<prop::sample::Index>())
        {
            let (a, b) = (cut.index(bytes.len() + 1), second.index(bytes.len() + 1));
            let (a, b) = (a.min(b), a.max(b));
            prop_assert_eq!(split_all(&[&bytes]), split_all(&[&bytes[..a], &bytes[a..b], &bytes[b..]]));
        }
    }
}
