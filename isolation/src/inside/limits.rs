//! Limits that a process carries with it, whatever it starts.

use rustix::process::{Resource, Rlimit};

use crate::message::Refusal;

/// Resource, limit, in words.
const LIMITS: &[(Resource, u64, &str)] = &[
    (Resource::Core, 0, "core dumps: none"),
    (Resource::Nofile, 4096, "open files of a process: 4096"),
    (Resource::Fsize, 4 << 30, "size of a file: 4 GiB"),
    (Resource::Memlock, 64 << 20, "locked memory: 64 MiB"),
    (Resource::Nice, 0, "priority: cannot be raised"),
];

/// Counted by the kernel per user, so of use only where the cell has one of its own.
const OF_USER: &[(Resource, u64, &str)] = &[(Resource::Nproc, 512, "processes and threads: 512")];

fn all(own_user: bool) -> impl Iterator<Item = &'static (Resource, u64, &'static str)> {
    LIMITS.iter().chain(OF_USER.iter().filter(move |_| own_user))
}

/// Sets them; a hard limit that is lower already stays.
pub(crate) fn set(own_user: bool) -> Result<(), Refusal> {
    for (resource, limit, phrase) in all(own_user) {
        let ceiling = rustix::process::getrlimit(*resource).maximum.unwrap_or(u64::MAX);
        let limit = Some((*limit).min(ceiling));
        rustix::process::setrlimit(*resource, Rlimit { current: limit, maximum: limit })
            .map_err(|error| Refusal::no_wall("limits", format!("{phrase}: {error}")))?;
    }
    Ok(())
}

/// What they say.
pub(crate) fn phrases(own_user: bool) -> impl Iterator<Item = String> {
    let of_the_harness = crate::disk::PHRASE.to_owned();
    all(own_user).map(|(_, _, phrase)| (*phrase).to_owned()).chain(std::iter::once(of_the_harness))
}
