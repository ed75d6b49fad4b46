//! Frames of a debug adapter or language server: `Content-Length` and other header lines, an empty line, so many bytes of
//! JSON. Never lines: a message may hold line ends, and several may arrive in one read.

use std::io::{self, BufRead, ErrorKind, Read, Write};

use serde_json::Value;

/// More than any message needs; a larger length is taken for a broken stream.
const LARGEST: usize = 64 << 20;
/// Longest header line.
const LONGEST_LINE: u64 = 8 << 10;

/// Writes one message.
pub(crate) fn write(to: &mut impl Write, message: &Value) -> io::Result<()> {
    let body = message.to_string();
    // One write: a peer that dies in between never sees half a header.
    let frame = format!("Content-Length: {}\r\n\r\n{body}", body.len());
    to.write_all(frame.as_bytes())?;
    to.flush()
}

/// Reads one message; `None` at the end of the stream. A stream that breaks the framing is an error.
pub(crate) fn read(from: &mut impl BufRead) -> io::Result<Option<Value>> {
    let Some(length) = header(from)? else { return Ok(None) };
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    serde_json::from_slice(&body).map(Some).map_err(|error| bad(format!("a message is not JSON: {error}")))
}

fn header(from: &mut impl BufRead) -> io::Result<Option<usize>> {
    let mut length = None;
    let mut begun = false;
    loop {
        let mut line = String::new();
        if from.by_ref().take(LONGEST_LINE).read_line(&mut line)? == 0 {
            return if begun { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(None) };
        }
        begun = true;
        if !line.ends_with('\n') {
            return Err(bad("a header line does not end".to_owned()));
        }
        let line = line.trim_end();
        if line.is_empty() {
            let length = length.ok_or_else(|| bad("a header has no Content-Length".to_owned()))?;
            return Ok(Some(length));
        }
        let (name, value) = line.split_once(':').ok_or_else(|| bad(format!("{line:?} is no header line")))?;
        if name.eq_ignore_ascii_case("content-length") {
            let said: usize =
                value.trim().parse().map_err(|_| bad(format!("{value:?} is no length of a message")))?;
            if said > LARGEST {
                return Err(bad(format!("a message of {said} bytes is larger than {LARGEST}")));
            }
            length = Some(said);
        }
    }
}

fn bad(what: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn all(bytes: &[u8], capacity: usize) -> Vec<io::Result<Value>> {
        let mut reader = BufReader::with_capacity(capacity, bytes);
        std::iter::from_fn(|| read(&mut reader).transpose()).take(100).collect()
    }

    #[test]
    fn broken_frames_are_told_from_the_end() {
        let read =
            |text: &str| all(text.as_bytes(), 16).into_iter().map(|r| r.map_err(|e| e.to_string())).next();
        assert_eq!(read(""), None);
        assert_eq!(read("content-length: 2\r\nX: y\r\n\r\n{}"), Some(Ok(json!({}))));
        assert!(read("Content-Length: 5\r\n\r\n{}").unwrap().is_err());
        assert!(read("X: 1\r\n\r\n{}").unwrap().unwrap_err().contains("no Content-Length"));
        assert!(read("Content-Length: x\r\n\r\n").unwrap().unwrap_err().contains("no length"));
        assert!(read("Content-Length: 99999999999\r\n\r\n").unwrap().unwrap_err().contains("larger"));
        assert!(read("Content-Length: 1\r\n\r\n{").unwrap().unwrap_err().contains("not JSON"));
    }

    proptest! {
        #[test]
        fn messages_come_back_however_the_bytes_arrive(
            texts in proptest::collection::vec("[a-zä\r\n\"{}: ]{0,40}", 0..6), capacity in 1_usize..64,
        ) {
            let messages: Vec<Value> = texts.iter().map(|text| json!({"text": text})).collect();
            let mut bytes = Vec::new();
            messages.iter().for_each(|message| write(&mut bytes, message).unwrap());
            let found: Vec<Value> = all(&bytes, capacity).into_iter().map(Result::unwrap).collect();
            prop_assert_eq!(found, messages);
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            all(&bytes, 8);
        }
    }
}
