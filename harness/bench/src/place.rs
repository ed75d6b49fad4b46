//! Where a run lies: which directory is new, which is continued, which is finished.

use std::path::{Path, PathBuf};

use bench_core::source::nearest;
use bench_core::{Clock as _, Shard, SystemClock};
use bench_record::{Lock, RunDir, lock_difference};
use bench_runner::Progress;

use crate::exit::{Exit, Failure, fail};
use crate::options::RunOptions;
use crate::say;
use crate::source::Source;

/// Where the run lies, and whether it was begun before.
pub(crate) enum Place {
    /// Nothing is there yet.
    New(PathBuf),
    /// Begun under the same lock, with open cells.
    Unfinished(PathBuf),
    /// Every cell is settled.
    Finished(PathBuf),
}

impl Place {
    /// The directory.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::New(path) | Self::Unfinished(path) | Self::Finished(path) => path,
        }
    }
}

/// The directory named with `-o`, else the newest unfinished run of the same lock, else a new one.
pub(crate) fn choose(source: &mut Source, options: &RunOptions) -> Result<Place, Failure> {
    if let Some(dir) = &options.output {
        return named_run_dir(source, dir, options.new);
    }
    let name = source.experiment().name.to_string();
    let root = Path::new("runs");
    let mut newest_difference = None;
    if !options.new {
        for dir in runs_of(root, &name) {
            match begun(source, &dir) {
                Begun::Same { finished: false } => return Ok(Place::Unfinished(dir)),
                Begun::Same { finished: true } => return Ok(Place::Finished(dir)),
                Begun::Other(difference) => {
                    newest_difference.get_or_insert((dir, difference));
                }
                Begun::NotARun => {}
            }
        }
    }
    if let Some((dir, difference)) = newest_difference {
        say::complain(&format!("{} differs in {difference}; starting another run", dir.display()));
    }
    let stamp: String =
        SystemClock::default().now_utc().chars().filter(|c| !matches!(c, '-' | ':')).take(15).collect();
    let fresh = (1..).map(|n| {
        let suffix = if n == 1 { String::new() } else { format!("-{n}") };
        let shard = options.shard.map_or_else(String::new, |s| format!("-shard-{}-of-{}", s.index, s.of));
        root.join(format!("{name}-{stamp}Z{shard}{suffix}"))
    });
    let dir = fresh.into_iter().find(|dir| !dir.exists());
    Ok(Place::New(dir.unwrap_or_else(|| root.join(name))))
}

fn named_run_dir(source: &mut Source, dir: &Path, new: bool) -> Result<Place, Failure> {
    match begun(source, dir) {
        Begun::NotARun => Ok(Place::New(dir.to_owned())),
        Begun::Same { .. } | Begun::Other(_) if new => fail(
            Exit::Usage,
            format!(
                "run directory {} already holds a run; name another with -o, or leave --new out",
                dir.display()
            ),
        ),
        Begun::Same { finished: true } => Ok(Place::Finished(dir.to_owned())),
        Begun::Same { finished: false } => Ok(Place::Unfinished(dir.to_owned())),
        Begun::Other(difference) => fail(
            Exit::Usage,
            format!(
                "run directory {} holds a run that differs in {difference}; name another directory with -o, or restore what changed",
                dir.display()
            ),
        ),
    }
}

enum Begun {
    NotARun,
    Same { finished: bool },
    Other(String),
}

fn begun(source: &mut Source, dir: &Path) -> Begun {
    let run = match RunDir::open(dir) {
        Ok(run) => run,
        Err(_) => return Begun::NotARun,
    };
    let Ok(lock) = Lock::read(&run.lock()) else { return Begun::NotARun };
    go_on_at_its_level(source, &lock);
    if let Some(difference) = lock_difference(&lock, &source.plan.lock) {
        return Begun::Other(difference);
    }
    let shard: Option<Shard> = lock.get("shard").and_then(|shard| serde_json::from_value(shard.clone()).ok());
    if shard != source.plan.lock.shard {
        let word = |shard: Option<Shard>| shard.map_or("all of it".to_owned(), |shard| shard.to_string());
        return Begun::Other(format!("shard: was {}, now {}", word(shard), word(source.plan.lock.shard)));
    }
    let records = bench_record::read_journal(&run.journal()).map(|(records, _)| records).unwrap_or_default();
    let settled = Progress::of(&records).settled_cells(&source.plan);
    Begun::Same { finished: settled as usize == source.plan.schedule.len() }
}

/// All cells of an experiment run at one level: a run that was begun at a lower one than this machine reaches by now
/// goes on at the level at which it was begun. One begun at a higher level differs.
fn go_on_at_its_level(source: &mut Source, lock: &serde_json::Value) {
    let begun_at = lock.pointer("/isolation/level").cloned();
    let Some(level) = begun_at.and_then(|level| serde_json::from_value(level).ok()) else { return };
    if level < source.plan.site.level && lock_difference(lock, &source.plan.at_level(level)).is_none() {
        source.plan.settle_level(level);
    }
}

/// Run directories of an experiment, newest first.
fn runs_of(root: &Path, experiment: &str) -> Vec<PathBuf> {
    let prefix = format!("{experiment}-2");
    let Ok(entries) = std::fs::read_dir(root) else { return Vec::new() };
    let mut dirs: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.starts_with(&prefix)))
        .collect();
    dirs.sort();
    dirs.reverse();
    dirs
}

/// The path from the root; links are resolved where it exists.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}

/// `; did you mean X?` where something beside a path that does not exist is called almost so; else nothing.
pub(crate) fn meant(path: &Path, fits: impl Fn(&Path) -> bool) -> String {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let beside = std::fs::read_dir(parent.unwrap_or(Path::new("."))).into_iter().flatten();
    let names: Vec<String> = beside
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| fits(path))
        .filter_map(|path| path.file_name()?.to_str().map(str::to_owned))
        .collect();
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let wanted = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match nearest(wanted, &known) {
        Some(name) => format!("; did you mean {}?", path.with_file_name(name).display()),
        None => String::new(),
    }
}
