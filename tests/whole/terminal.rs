//! The binary on a terminal of 80 columns: nothing runs over its edge, colours can be refused, and what is drawn while a run
//! goes on is taken back before the table.

use std::io::Read as _;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::process::Stdio;

use crate::workplace::{Workplace, smoke_experiment, walls};

const COLUMNS: usize = 80;

/// Both ends of a new terminal: what a person sees, what a program writes to.
fn terminal() -> (OwnedFd, OwnedFd) {
    let (mut seen, mut written) = (-1, -1);
    let size = libc::winsize { ws_row: 24, ws_col: COLUMNS as u16, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: two places for descriptors and a size, all alive during the call; no name and no modes are asked for.
    let made = unsafe {
        libc::openpty(&mut seen, &mut written, std::ptr::null_mut(), std::ptr::null(), &raw const size)
    };
    assert_eq!(made, 0, "a terminal");
    // SAFETY: both descriptors were just made and are owned by nobody else.
    unsafe { (OwnedFd::from_raw_fd(seen), OwnedFd::from_raw_fd(written)) }
}

/// Everything that a call writes to its terminal.
fn shown(place: &Workplace, args: &[&str], env: &[(&str, &str)]) -> String {
    let (seen, written) = terminal();
    let mut command = place.command(args);
    command
        .env("TERM", "xterm-256color")
        .envs(env.iter().copied())
        .stdout(Stdio::from(written.try_clone().unwrap()))
        .stderr(Stdio::from(written));
    let mut run = command.spawn().unwrap();
    // The command holds the writing ends too: without it reading ends with the last program that can write.
    drop(command);
    let mut bytes = Vec::new();
    // A terminal without a writer is an error to its reader, and what came before it is there.
    let _ = std::fs::File::from(seen).read_to_end(&mut bytes);
    assert!(run.wait().unwrap().success(), "{}", String::from_utf8_lossy(&bytes));
    String::from_utf8(bytes).unwrap()
}

/// Escape sequences by their last letter, and the text without them.
fn taken_apart(text: &str) -> (Vec<char>, String) {
    let (mut letters, mut rest) = (Vec::new(), String::new());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\x1b' {
            rest.push(c);
            continue;
        }
        assert_eq!(chars.next(), Some('['), "only sequences of colours and of the cursor");
        letters.extend(chars.by_ref().find(char::is_ascii_alphabetic));
    }
    (letters, rest)
}

#[test]
fn a_terminal_of_eighty_columns_is_kept_to_and_colours_can_be_refused() {
    if !walls("a_terminal_of_eighty_columns_is_kept_to_and_colours_can_be_refused") {
        return;
    }
    let place = Workplace::new();
    let file =
        place.file("smoke.toml", &smoke_experiment("a-name-that-takes-its-place-in-every-line-of-the-table"));
    for (dir, env, coloured) in
        [("a", &[][..], true), ("b", &[("NO_COLOR", "1")][..], false), ("c", &[("TERM", "dumb")][..], false)]
    {
        let (letters, text) = taken_apart(&shown(&place, &["run", &file, "-o", dir], env));
        assert_eq!(letters.contains(&'m'), coloured, "{env:?}: colours");
        let wide: Vec<&str> =
            text.split(['\n', '\r']).filter(|line| line.chars().count() > COLUMNS).collect();
        // A path is not broken in two.
        assert!(wide.iter().all(|line| line.contains(".html")), "{env:?}: {wide:#?}");
        assert!(text.contains("PASS"), "{text}");
    }
}
