//! How much a cell has put on the machine's disk, looked at while it runs: no quota is to be had without root or a file
//! system of one's own. Cheap as long as little is written: trees are walked only when the file system has lost room.

use std::path::PathBuf;

/// Bytes that workspace, HOME and TMPDIR of a cell may hold together.
pub const DISK_CAP_BYTES: u64 = 2 << 30;

/// Files and directories that they may hold together.
pub const DISK_CAP_ENTRIES: u64 = 200_000;

/// What it says, in words.
pub(crate) const PHRASE: &str =
    "workspace, HOME and TMPDIR: 2 GiB and 200,000 entries together, looked at four times a second";

/// The room of a cell's trees.
#[derive(Debug)]
pub(crate) struct DiskWatch {
    trees: Vec<PathBuf>,
    cap: Room,
    seen: Option<Room>,
}

/// Bytes and entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Room {
    bytes: u64,
    entries: u64,
}

impl DiskWatch {
    /// Of these trees, as the harness sees them.
    pub(crate) fn of(trees: &[PathBuf]) -> Self {
        Self::with_cap(trees, Room { bytes: DISK_CAP_BYTES, entries: DISK_CAP_ENTRIES })
    }

    fn with_cap(trees: &[PathBuf], cap: Room) -> Self {
        let mut watch = Self { trees: trees.to_vec(), cap, seen: None };
        watch.seen = watch.free();
        watch
    }

    /// Do they hold more than they may? To be asked again and again.
    pub(crate) fn is_over(&mut self) -> bool {
        let (Some(before), Some(now)) = (self.seen, self.free()) else { return false };
        let lost = |before: u64, now: u64, cap: u64| before.saturating_sub(now) >= (cap / 8).max(1);
        if !lost(before.bytes, now.bytes, self.cap.bytes)
            && !lost(before.entries, now.entries, self.cap.entries)
        {
            // Room that others gave back must not hide what this cell takes.
            self.seen =
                Some(Room { bytes: before.bytes.max(now.bytes), entries: before.entries.max(now.entries) });
            return false;
        }
        let held = self.held();
        self.seen = Some(now);
        held.bytes > self.cap.bytes || held.entries > self.cap.entries
    }

    /// What the file system of the first tree has left; none where it cannot be asked.
    fn free(&self) -> Option<Room> {
        let stat = rustix::fs::statvfs(self.trees.first()?).ok()?;
        Some(Room { bytes: stat.f_bfree.saturating_mul(stat.f_frsize), entries: stat.f_ffree })
    }

    /// What the trees hold: blocks really taken, so that a file of holes counts as little. Links are not followed.
    fn held(&self) -> Room {
        use std::os::unix::fs::MetadataExt;
        let mut held = Room { bytes: 0, entries: 0 };
        let mut waiting = self.trees.clone();
        while let Some(dir) = waiting.pop() {
            let Ok(entries) = std::fs::read_dir(&dir) else { continue };
            for entry in entries.flatten() {
                let Ok(meta) = entry.metadata() else { continue };
                held.entries += 1;
                held.bytes = held.bytes.saturating_add(meta.blocks() * 512);
                if meta.is_dir() {
                    waiting.push(entry.path());
                }
                if held.entries > self.cap.entries || held.bytes > self.cap.bytes {
                    return held;
                }
            }
        }
        held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(dir: &std::path::Path) -> DiskWatch {
        DiskWatch::with_cap(&[dir.to_owned()], Room { bytes: 1 << 20, entries: 100 })
    }

    #[test]
    fn bytes_and_entries_are_counted_and_holes_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let file = std::fs::File::create(dir.path().join("sparse")).unwrap();
        file.set_len(1 << 30).unwrap();
        let held = watch(dir.path()).held();
        assert!(held.bytes < 1 << 16, "{held:?}");
        std::fs::create_dir(dir.path().join("d")).unwrap();
        for number in 0..150 {
            std::fs::write(dir.path().join(format!("d/{number}")), "x").unwrap();
        }
        assert!(watch(dir.path()).held().entries > 100);
        let full = tempfile::tempdir().unwrap();
        std::fs::write(full.path().join("f"), vec![1; 2 << 20]).unwrap();
        assert!(watch(full.path()).held().bytes > 1 << 20);
    }
}
