//! Suites: folders of tasks. Loading one checks every task whole, plans and cheats included.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bench_core::source::unknown;
use bench_core::{Problem, Sha256Hex, Source, SuiteId, Task, TaskId, Track};
use toml::Spanned;

use crate::error::TaskError;
use crate::file::{FORMAT_VERSION, TaskFile};
use crate::folder::{self, TaskEntry};
use crate::plan;

/// Shorter texts may occur by chance.
const SHORTEST_CANARY: usize = 16;

/// A loaded suite.
#[derive(Debug, Clone)]
pub struct Suite {
    /// Its folder's name.
    pub id: SuiteId,
    /// Its folder.
    pub dir: PathBuf,
    /// Its tasks in the order of names; at least one.
    pub tasks: Vec<Task>,
    /// Digest over the digests of its tasks.
    pub sha256: Sha256Hex,
}

impl Suite {
    /// Loads every task of a suite's folder. Errors list what is wrong with all of them; files beside the tasks, and
    /// folders whose names start with a dot, are left alone.
    pub fn load(dir: &Path) -> Result<Self, TaskError> {
        let id = suite_id(dir)?;
        let mut tasks = Vec::new();
        let mut problems = Vec::new();
        for task_dir in subfolders(dir)? {
            match load_task(&task_dir) {
                Ok(task) => tasks.push(task),
                Err(mut found) => problems.append(&mut found),
            }
        }
        problems.extend(shared_canaries(&tasks));
        if tasks.is_empty() && problems.is_empty() {
            let message = "the suite has no task: add a folder with task.toml, instruction.md, workspace/, verify/run.sh and oracle.toml";
            problems.push(Problem::of_file(dir, message));
        }
        if !problems.is_empty() {
            return Err(problems.into());
        }
        let sha256 =
            Sha256Hex::of_parts(tasks.iter().map(|task| (task.id.as_str(), task.sha256.as_str().as_bytes())));
        Ok(Self { id, dir: dir.to_owned(), tasks, sha256 })
    }

    /// The task of this name.
    pub fn task(&self, id: &TaskId) -> Option<&Task> {
        self.tasks.iter().find(|task| &task.id == id)
    }
}

/// Suites below some folders, by name; where two folders hold one of the same name, the first one counts.
pub fn list_suites(roots: &[PathBuf]) -> BTreeMap<SuiteId, PathBuf> {
    let mut found = BTreeMap::new();
    for dir in roots.iter().filter_map(|root| subfolders(root).ok()).flatten() {
        if let Ok(id) = suite_id(&dir) {
            found.entry(id).or_insert(dir);
        }
    }
    found
}

/// The folder of the suite of this name. The error names the folders that were searched and the suites in them.
pub fn find_suite(name: &str, roots: &[PathBuf]) -> Result<PathBuf, TaskError> {
    let mut suites = list_suites(roots);
    if let Some((_, dir)) = suites.iter().find(|(id, _)| id.as_str() == name) {
        return Ok(dir.clone());
    }
    let known: Vec<String> = std::mem::take(&mut suites).into_keys().map(String::from).collect();
    let searched: Vec<String> = roots.iter().map(|root| root.display().to_string()).collect();
    let message = format!("{}; searched in: {}", unknown("suite", name, &known), searched.join(", "));
    let place = roots.first().map_or(Path::new("suites"), PathBuf::as_path);
    Err(Problem::of_file(place, message).into())
}

fn suite_id(dir: &Path) -> Result<SuiteId, TaskError> {
    let name = dir.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    Ok(SuiteId::new(name).map_err(|error| Problem::of_file(dir, error.to_string()))?)
}

fn subfolders(dir: &Path) -> Result<Vec<PathBuf>, TaskError> {
    let unreadable = |error: std::io::Error| {
        Problem::of_file(
            dir,
            format!("the folder cannot be read ({error}): check the path, or name another with --suite"),
        )
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if !hidden && entry.path().is_dir() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

fn load_task(dir: &Path) -> Result<Task, Vec<Problem>> {
    let entries = folder::read(dir)?;
    let name = dir.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let id = TaskId::new(name).map_err(|error| vec![Problem::of_file(dir, error.to_string())])?;
    let missing = missing_parts(dir, &entries);
    if !missing.is_empty() {
        return Err(missing);
    }
    let instruction = text_of(dir, &entries, "instruction.md").map_err(|problem| vec![problem])?;
    let task_file = text_of(dir, &entries, "task.toml").map_err(|problem| vec![problem])?;
    let path = dir.join("task.toml");
    let source = Source { file: &path, text: &task_file };
    let file: TaskFile = source.parse()?;
    let mut problems = file_problems(&file, source);
    let canary = file.canary.get_ref().clone();
    problems.extend(folder::canary_problems(dir, &entries, &canary));
    let task = Task {
        cluster: file.cluster.map_or_else(|| id.to_string(), |cluster| cluster.into_inner()),
        id,
        title: file.title.into_inner(),
        track: file.track.as_ref().and_then(|word| track(word.get_ref())).unwrap_or(Track::Default),
        instruction,
        requires: file.requires.into_iter().map(|program| program.into_inner()).collect(),
        dir: dir.to_owned(),
        canary,
        asks: file.ask,
        agent_configuration: file.agent_configuration.into_iter().map(Spanned::into_inner).collect(),
        sha256: folder::digest(&entries),
    };
    problems.extend(plan::problems(&task));
    if problems.is_empty() { Ok(task) } else { Err(problems) }
}

fn missing_parts(dir: &Path, entries: &[TaskEntry]) -> Vec<Problem> {
    let has = |name: &str| entries.iter().any(|entry| entry.name == name && !entry.bytes.is_empty());
    let parts = [
        ("task.toml", "the task has no task.toml: it declares format-version, title and canary"),
        ("instruction.md", "the task has no instruction: write what the agent is told into instruction.md"),
        (
            "verify/run.sh",
            "the task has no verifier: write verify/run.sh, which exits 0 for passed and 1 for failed",
        ),
        (
            "oracle.toml",
            "the task has no reference plan: write oracle.toml, so that it can be proven that the task can be done",
        ),
    ];
    let mut problems: Vec<Problem> = parts
        .iter()
        .filter(|(name, _)| !has(name))
        .map(|(name, message)| Problem::of_file(&dir.join(name), *message))
        .collect();
    if !entries.iter().any(|entry| entry.name.starts_with("workspace/")) {
        let message =
            "the task has no starting workspace: put at least one file into it (git keeps no empty folder)";
        problems.push(Problem::of_file(&dir.join("workspace"), message));
    }
    problems
}

fn text_of(dir: &Path, entries: &[TaskEntry], name: &str) -> Result<String, Problem> {
    let bytes = entries.iter().find(|entry| entry.name == name).map_or(&[][..], |entry| &entry.bytes);
    String::from_utf8(bytes.to_vec()).map_err(|error| {
        let message = format!("not UTF-8 text (byte {}): save it as UTF-8", error.utf8_error().valid_up_to());
        Problem::of_file(&dir.join(name), message)
    })
}

fn file_problems(file: &TaskFile, source: Source<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    if *file.format_version.get_ref() != FORMAT_VERSION {
        problems.push(plan::wrong_version(source, &file.format_version));
    }
    if file.title.get_ref().trim().is_empty() || file.title.get_ref().contains('\n') {
        problems.push(source.at(file.title.span(), "the title must be one line of text for people"));
    }
    if let Some(word) = &file.track
        && track(word.get_ref()).is_none()
    {
        problems
            .push(source.at(word.span(), unknown("track", word.get_ref(), &["default", "orchestration"])));
    }
    if let Some(cluster) = &file.cluster
        && cluster.get_ref().trim().is_empty()
    {
        problems.push(source.at(cluster.span(), "the cluster is empty: name it, or leave the key out"));
    }
    for name in &file.agent_configuration {
        if !bench_isolation::set_aside::is_configuration(std::ffi::OsStr::new(name.get_ref())) {
            let message = format!(
                "agent-configuration: `{}` is no name that is set aside, so the check sees it anyway: remove it (docs/formats/task.md has the list)",
                name.get_ref()
            );
            problems.push(source.at(name.span(), message));
        }
    }
    for program in &file.requires {
        if program.get_ref().is_empty() || program.get_ref().contains(['/', ' ', '\t']) {
            let message = format!(
                "`{}` is not the name of a program on PATH: write it without folder and arguments",
                program.get_ref()
            );
            problems.push(source.at(program.span(), message));
        }
    }
    let canary = file.canary.get_ref();
    if canary.len() < SHORTEST_CANARY || canary.contains(char::is_whitespace) {
        let message = format!(
            "`{canary}` may occur by chance: a canary has at least {SHORTEST_CANARY} characters and no spaces"
        );
        problems.push(source.at(file.canary.span(), message));
    }
    problems
}

fn track(word: &str) -> Option<Track> {
    match word {
        "default" => Some(Track::Default),
        "orchestration" => Some(Track::Orchestration),
        _ => None,
    }
}

fn shared_canaries(tasks: &[Task]) -> Vec<Problem> {
    let mut owners: BTreeMap<&str, &TaskId> = BTreeMap::new();
    let mut problems = Vec::new();
    for task in tasks {
        if let Some(owner) = owners.insert(&task.canary, &task.id) {
            let message = format!(
                "the canary `{}` is that of task `{owner}` too: a leak must name one task; write another",
                task.canary
            );
            problems.push(Problem::of_file(&task.dir.join("task.toml"), message).with_key("canary"));
        }
    }
    problems
}
