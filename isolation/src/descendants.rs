//! Who descends from a process, by /proc.

use std::collections::HashMap;

/// Every process below `ancestor`, at any depth, without itself. One that ends or is born meanwhile may be missing.
pub(crate) fn descendants(ancestor: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for pid in processes() {
        if let Some(parent) = parent_of(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut waiting = vec![ancestor];
    while let Some(pid) = waiting.pop() {
        let below = children.remove(&pid).unwrap_or_default();
        found.extend(&below);
        waiting.extend(below);
    }
    found
}

/// All that /proc shows.
pub(crate) fn processes() -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The threads of a process; none when it has ended.
pub(crate) fn threads(pid: u32) -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The parent of a process; none when it has ended.
pub(crate) fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The command's name stands in parentheses and may hold any byte: what counts starts behind the last one.
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_s_child_descends_and_nobody_else() {
        // The shell waits for what it has started.
        let mut shell = std::process::Command::new("/bin/sh")
            .args(["-c", "cat | cat"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // A byte has passed both of them: they are there.
        std::io::Write::write_all(shell.stdin.as_mut().unwrap(), b"x").unwrap();
        std::io::Read::read_exact(shell.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        let found = descendants(shell.id());
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found.iter().all(|pid| parent_of(*pid) == Some(shell.id())));
        assert!(descendants(std::process::id()).contains(&found[0]));
        drop(shell.stdin.take());
        shell.wait().unwrap();
    }
}
