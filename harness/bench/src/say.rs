//! Printing: the only place that writes to the terminal. A reader that went away (`| head`) ends the program quietly.

use std::io::Write as _;

/// Writes to standard output as it is.
pub(crate) fn raw(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    if out.write_all(bytes).and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}

/// Writes a line to standard output.
pub(crate) fn line(text: &str) {
    raw(format!("{text}\n").as_bytes());
}

/// Writes a line to standard error.
pub(crate) fn complain(text: &str) {
    // Nobody listens on standard error: nothing more can be done about it.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Text from agents or files, with control characters shown instead of obeyed.
pub(crate) fn harmless(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            if c.is_control() && c != '\n' && c != '\t' {
                format!("\\u{{{:x}}}", c as u32).chars().collect::<Vec<_>>()
            } else {
                vec![c]
            }
        })
        .collect()
}
