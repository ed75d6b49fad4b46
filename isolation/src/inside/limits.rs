//! Limits that a process carries with it, whatever it starts.

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir};
use rustix::process::{Resource, Rlimit};

use super::user::CellUser;
use crate::message::Refusal;

/// Resource, limit, in words.
const LIMITS: &[(Resource, u64, &str)] = &[
    // Where the machine hands crashes to a program, 1 byte keeps it from being started, and 0 does not.
    (Resource::Core, 1, "core dumps: none"),
    (Resource::Fsize, 4 << 30, "size of a file: 4 GiB"),
    (Resource::Memlock, 64 << 20, "locked memory: 64 MiB"),
    (Resource::Nice, 0, "priority: cannot be raised"),
];

/// Processes and threads of a cell whose user nobody else is.
pub(crate) const PROCESSES: u64 = 512;

/// As [`PROCESSES`], beyond what the user has already, where that is the caller: other cells of his and whatever else he
/// starts later count as well, so there is more room.
const PROCESSES_BEYOND: u64 = 1024;

/// How many processes and threads a cell may have. The kernel counts them by user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Processes {
    /// Of a user of the cell's own.
    OfTheCell,
    /// Of the caller, who had this many when the cell was started.
    OfTheCaller { present: u64 },
}

impl Processes {
    fn limit(self) -> u64 {
        match self {
            Self::OfTheCell => PROCESSES,
            Self::OfTheCaller { present } => present.saturating_add(PROCESSES_BEYOND),
        }
    }

    fn phrase(self) -> String {
        match self {
            Self::OfTheCell => format!("processes and threads: {PROCESSES}"),
            Self::OfTheCaller { present } => format!(
                "processes and threads: {PROCESSES_BEYOND} beyond the {present} that the user had at launch"
            ),
        }
    }
}

/// Open files of a process.
const DESCRIPTORS: u64 = 4096;

/// Of a user whom others are too, at least this many.
const DESCRIPTORS_AT_LEAST: u64 = 256;

/// Limits open files, the last of all limits: the kernel refuses to hand a descriptor over to whoever has fewer than the
/// user's processes have on their way together, and the filter's listener is still to be handed over. Where the user is
/// the caller, a cell's descriptors on their way must not keep the harness from handing over its own.
pub(crate) fn set_descriptors(user: &CellUser) -> Result<String, Refusal> {
    let ceiling = rustix::process::getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let limit = match user.is_own() {
        true => DESCRIPTORS.min(ceiling),
        false => DESCRIPTORS.min((ceiling / 4).max(DESCRIPTORS_AT_LEAST)).min(ceiling),
    };
    let phrase = format!("open files of a process: {limit}");
    let limit = Some(limit);
    rustix::process::setrlimit(Resource::Nofile, Rlimit { current: limit, maximum: limit })
        .map_err(|error| Refusal::no_wall("limits", format!("{phrase}: {error}")))?;
    Ok(phrase)
}

/// Sets them; a hard limit that is lower already stays. Answers what they say. To be called before /proc is out of reach.
pub(crate) fn set(user: &CellUser) -> Result<Vec<String>, Refusal> {
    let processes = if user.is_own() {
        Processes::OfTheCell
    } else {
        let present = count_of(user.outside())
            .map_err(|error| Refusal::setup("count the user's processes in /proc", error))?;
        Processes::OfTheCaller { present }
    };
    let of_user = (Resource::Nproc, processes.limit(), processes.phrase());
    let fixed = LIMITS.iter().map(|(resource, limit, phrase)| (*resource, *limit, (*phrase).to_owned()));
    let mut phrases = Vec::with_capacity(LIMITS.len() + 2);
    for (resource, limit, phrase) in fixed.chain(std::iter::once(of_user)) {
        let ceiling = rustix::process::getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let limit = Some(limit.min(ceiling));
        rustix::process::setrlimit(resource, Rlimit { current: limit, maximum: limit })
            .map_err(|error| Refusal::no_wall("limits", format!("{phrase}: {error}")))?;
        phrases.push(phrase);
    }
    phrases.push(crate::disk::PHRASE.to_owned());
    Ok(phrases)
}

/// Processes and threads of a user, those of them that /proc shows here. One look at a directory each: its owner is the
/// process's user, and it has two links more than the process has threads.
fn count_of(user: u32) -> rustix::io::Result<u64> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let proc = rustix::fs::open("/proc", flags, Mode::empty())?;
    let mut space = Vec::with_capacity(16 * 1024);
    let mut entries = RawDir::new(&proc, space.spare_capacity_mut());
    let mut count: u64 = 0;
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if entry.file_type() == FileType::Directory && name.first().is_some_and(u8::is_ascii_digit) {
            let threads = [name, b"/task"].concat();
            // One that has ended since is none any more.
            if let Ok(stat) = rustix::fs::statat(&proc, threads.as_slice(), AtFlags::empty())
                && stat.st_uid == user
            {
                count += u64::from(stat.st_nlink as u32).saturating_sub(2);
            }
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_this_process_are_counted_among_those_of_its_user() {
        let own = rustix::process::geteuid().as_raw();
        let gate = std::sync::Arc::new(std::sync::Mutex::new(()));
        let closed = gate.lock().unwrap();
        let wait = || {
            let gate = std::sync::Arc::clone(&gate);
            std::thread::spawn(move || drop(gate.lock()))
        };
        let threads: Vec<_> = (0..300).map(|_| wait()).collect();
        assert!(count_of(own).unwrap() > 300);
        drop(closed);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(count_of(4_123_456_789).unwrap(), 0, "a user whom nobody is");
    }

    #[test]
    fn a_user_who_has_many_processes_already_may_start_as_many_as_one_who_has_none() {
        for present in [0, 1, 87, 40_000, u64::MAX] {
            let processes = Processes::OfTheCaller { present };
            assert_eq!(processes.limit(), present.saturating_add(PROCESSES_BEYOND));
            assert!(processes.phrase().contains(&present.to_string()));
        }
    }
}
