//! Printing: the only place that writes to the terminal. A reader that went away (`| head`) ends the program quietly.
//!
//! Text may hold what an agent wrote. All of it is made [`harmless`] here, so that no caller can forget it; what is refused
//! stands as `\u001b`, which within JSON reads back as the same.

use std::io::{IsTerminal as _, Write as _};

/// Writes text or JSON to standard output; colours (and nothing else that a terminal obeys) may stand in it.
pub(crate) fn raw(bytes: &[u8]) {
    out(coloured(&String::from_utf8_lossy(bytes)).as_bytes());
}

fn out(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    if out.write_all(bytes).and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}

/// Writes text to standard output.
pub(crate) fn text(text: &str) {
    out(harmless(text).as_bytes());
}

/// Writes a line to standard output.
pub(crate) fn line(text: &str) {
    out(format!("{}\n", harmless(text)).as_bytes());
}

/// Writes bytes that others made, exactly; to a terminal only what it cannot obey.
pub(crate) fn exact(bytes: &[u8]) {
    if !std::io::stdout().is_terminal() {
        return out(bytes);
    }
    let shown = String::from_utf8_lossy(bytes);
    let safe = harmless(&shown);
    out(safe.as_bytes());
    if safe.as_bytes() != bytes {
        complain("(shown with control characters escaped; redirect standard output for the exact bytes)");
    }
}

/// Writes a line to standard error; on a terminal it is broken between words.
pub(crate) fn complain(text: &str) {
    let mut text = harmless(text);
    if std::io::stderr().is_terminal() {
        text = broken(&text, crate::front::columns());
    }
    // Nobody listens on standard error: nothing more can be done about it.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Lines that are too long go on in the next one, set in by two. A word that is too long by itself (a path) stays whole.
fn broken(text: &str, columns: usize) -> String {
    let mut whole = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let mut width = 0;
        for (index, word) in line.split(' ').enumerate() {
            let length = word.trim_end_matches('\n').chars().count();
            match index {
                0 => {}
                // Runs of spaces hold columns apart: a line is broken at a word alone.
                _ if width + 1 + length > columns && width > 2 && length > 0 => {
                    whole.push_str("\n  ");
                    width = 2;
                }
                _ => {
                    whole.push(' ');
                    width += 1;
                }
            }
            whole.push_str(word);
            width += length;
        }
    }
    whole
}

/// Writes a question to standard error, without a line's end, and reads the answer; `None` where nobody can be asked.
pub(crate) fn ask(question: &str) -> Option<String> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return None;
    }
    let mut stderr = std::io::stderr().lock();
    write!(stderr, "{}", harmless(question)).and_then(|()| stderr.flush()).ok()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).ok()?;
    Some(answer.trim().to_owned())
}

/// Writes to the terminal on standard error, cursor movements included: the live display's own.
pub(crate) fn to_screen(bytes: &[u8]) {
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(bytes).and_then(|()| stderr.flush());
}

/// Text from agents or files, with what a terminal obeys shown instead: control characters (also those above 0x7f), and
/// those that turn the direction of writing or hide.
pub(crate) fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if obeyed(c) { shown.push_str(&format!("\\u{:04x}", c as u32)) } else { shown.push(c) }
    }
    shown
}

/// The same, but for sequences that set a colour.
fn coloured(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\x1b[") {
        shown.push_str(&harmless(&rest[..at]));
        let sequence = rest[at + 2..].find(|c: char| !c.is_ascii_digit() && c != ';');
        let end = sequence.map(|end| at + 2 + end).filter(|&end| rest[end..].starts_with('m'));
        let kept = end.map_or(at + 1, |end| end + 1);
        shown.push_str(&if end.is_some() { rest[at..kept].to_owned() } else { harmless(&rest[at..kept]) });
        rest = &rest[kept..];
    }
    shown.push_str(&harmless(rest));
    shown
}

fn obeyed(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' => true,
        _ => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        let nasty = "a\x1b[2J\r\u{9b}31m\u{202e}b\u{7f}\tok\n";
        assert_eq!(harmless(nasty), "a\\u001b[2J\\u000d\\u009b31m\\u202eb\\u007f\tok\n");
        assert_eq!(
            coloured("\x1b[31mred\x1b[0m \x1b[2J \x1b[ \x1b"),
            "\x1b[31mred\x1b[0m \\u001b[2J \\u001b[ \\u001b"
        );
    }

    #[test]
    fn long_lines_are_broken_between_words() {
        assert_eq!(broken("one two three\nfour", 8), "one two\n  three\nfour");
        assert_eq!(broken("a-path-that-is-long x", 8), "a-path-that-is-long\n  x");
        assert_eq!(broken("  |  ^ here", 80), "  |  ^ here");
    }

    proptest! {
        #[test]
        fn broken_lines_hold_the_same_words(text in "[a-c \n]{0,60}") {
            let words = |text: &str| text.split_whitespace().collect::<String>();
            let shown = broken(&text, 10);
            prop_assert_eq!(words(&shown), words(&text));
            prop_assert!(shown.split('\n').all(|line| line.trim().chars().count() <= 10 || !line.trim().contains(' ')));
        }

        #[test]
        fn escaped_json_is_the_same_value(text: String) {
            let shown = harmless(&serde_json::to_string(&text).unwrap());
            prop_assert!(!shown.chars().any(obeyed));
            prop_assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
        }

        #[test]
        fn colours_are_all_that_is_left(text in "[\u{1b}\\[0-9;mJ\u{9b}a]{0,12}") {
            let shown = coloured(&text);
            let rest: String = shown.split("\x1b[").map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';')).collect();
            prop_assert!(!rest.chars().any(obeyed), "{:?}", shown);
        }
    }
}
