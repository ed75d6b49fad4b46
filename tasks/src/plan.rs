//! Plans: `oracle.toml` and the cheats, from their steps to the actions of core. Every step is checked for its shape, its
//! paths and its edits, so that a plan which loads can be played.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use bench_core::{Action, Plan, Problem, Source, Step, Task};
use toml::Spanned;

use crate::error::TaskError;
use crate::file::{EditFile, FORMAT_VERSION, PlanFile, SearchFile, StepFile, WriteFile};
use crate::text::{KnownText, Texts};

/// The plan through a capability.
pub(crate) const CAPABILITY_PLAN: &str = "oracle-capability.toml";
/// Folder of the files whose text a plan writes.
const PLAYED_DIR: &str = "oracle";

/// The reference plan of a task. Errors name file, line and key of everything in it that could not be played.
pub fn load_plan(task: &Task) -> Result<Plan, TaskError> {
    load(task, &task.dir.join("oracle.toml"))
}

/// The plan of a task through the capability that it asks for; none where it asks for none.
pub fn load_capability_plan(task: &Task) -> Result<Option<Plan>, TaskError> {
    let path = task.dir.join(CAPABILITY_PLAN);
    path.is_file().then(|| load(task, &path)).transpose()
}

/// The plans that must not pass, by the names of their files without ending; none where the task has no `cheats/`.
pub fn load_cheats(task: &Task) -> Result<BTreeMap<String, Plan>, TaskError> {
    let mut cheats = BTreeMap::new();
    for path in cheat_files(task)? {
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        cheats.insert(name, load(task, &path)?);
    }
    Ok(cheats)
}

/// What is wrong with the plans of a task, cheats included.
pub(crate) fn problems(task: &Task) -> Vec<Problem> {
    let plan = load_plan(task).err();
    let capability = load_capability_plan(task).err();
    let cheats = load_cheats(task).err();
    plan.into_iter().chain(capability).chain(cheats).flat_map(|error| error.problems).collect()
}

/// The message for a file of another format version.
pub(crate) fn wrong_version(source: Source<'_>, written: &Spanned<u32>) -> Problem {
    let message =
        format!("format version {} is not known to this build: write {FORMAT_VERSION}", written.get_ref());
    source.at(written.span(), message)
}

fn cheat_files(task: &Task) -> Result<Vec<PathBuf>, TaskError> {
    let dir = task.dir.join("cheats");
    if !dir.is_dir() {
        return Ok(Vec::new());
    }
    let unreadable =
        |error: std::io::Error| Problem::of_file(&dir, format!("the folder cannot be read: {error}"));
    let mut files = Vec::new();
    for entry in fs::read_dir(&dir).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_none_or(|ending| ending != "toml") {
            let message =
                "is no plan: a file in cheats/ is named NAME.toml and has the format of oracle.toml";
            return Err(Problem::of_file(&path, message).into());
        }
        files.push(path);
    }
    files.sort();
    Ok(files)
}

fn load(task: &Task, path: &Path) -> Result<Plan, TaskError> {
    let text = fs::read_to_string(path)
        .map_err(|error| Problem::of_file(path, format!("the plan cannot be read: {error}")))?;
    let source = Source { file: path, text: &text };
    let file: PlanFile = source.parse()?;
    let mut reader =
        PlanReader { source, task, texts: Texts::new(task.workspace_dir()), problems: Vec::new() };
    if *file.format_version.get_ref() != FORMAT_VERSION {
        reader.problems.push(wrong_version(source, &file.format_version));
    }
    let steps = reader.steps(&file.step);
    let mut children = BTreeMap::new();
    for (name, child) in &file.child {
        // A second agent finds the files of the workspace; what others make of them meanwhile nobody follows.
        reader.texts = Texts::new(task.workspace_dir());
        let steps = reader.steps(&child.step);
        children.insert(name.clone(), Plan { steps, children: BTreeMap::new() });
    }
    if reader.problems.is_empty() { Ok(Plan { steps, children }) } else { Err(reader.problems.into()) }
}

/// Reads the steps of one plan in order and gathers what is wrong with them.
struct PlanReader<'a> {
    source: Source<'a>,
    task: &'a Task,
    texts: Texts,
    problems: Vec<Problem>,
}

impl PlanReader<'_> {
    fn steps(&mut self, tables: &[Spanned<StepFile>]) -> Vec<Step> {
        if tables.is_empty() {
            let message = "the plan is empty: add [[step]] tables, the last of which is the answer";
            self.problems.push(Problem::of_file(self.source.file, message).with_key("step"));
        }
        let last = tables.len().saturating_sub(1);
        let mut steps = Vec::new();
        for (index, table) in tables.iter().enumerate() {
            let answers = table.get_ref().answer.is_some();
            if answers && index != last {
                self.wrong(table.span(), "only the last step may answer: the answer ends the cell, and this step is followed by others");
            }
            if !answers && index == last {
                self.wrong(
                    table.span(),
                    "the last step must be the answer: add a [[step]] with answer = \"…\" after it",
                );
            }
            let actions = self.step(table);
            steps.push(Step { actions });
        }
        steps
    }

    fn step(&mut self, table: &Spanned<StepFile>) -> Vec<Action> {
        let Some(together) = &table.get_ref().together else {
            return self.action(table).into_iter().collect();
        };
        if words(table.get_ref()).len() > 1 {
            self.wrong(table.span(), "a step with `together` has no action beside it: move it into the list");
        }
        if together.get_ref().len() < 2 {
            self.wrong(
                together.span(),
                "fewer than two actions are not together: write the action as the step itself",
            );
        }
        let mut actions = Vec::new();
        for inner in together.get_ref() {
            if inner.get_ref().answer.is_some() || inner.get_ref().together.is_some() {
                self.wrong(
                    inner.span(),
                    "an answer, or another `together`, cannot stand in `together`: make it a step",
                );
                continue;
            }
            actions.extend(self.action(inner));
        }
        if let Some(why) = dependence(&actions) {
            self.wrong(
                together.span(),
                format!("these actions are not independent ({why}): make them steps of their own"),
            );
        }
        actions
    }

    fn action(&mut self, table: &Spanned<StepFile>) -> Option<Action> {
        let step = table.get_ref();
        let found = words(step);
        if found.len() != 1 {
            let all = "run, read, write, edit, search, find, use, answer, together";
            let message = match found.as_slice() {
                [] => format!("the step does nothing: write exactly one of {all}"),
                several => format!(
                    "the step has {}: write exactly one of {all}, the others as steps of their own",
                    several.join(" and ")
                ),
            };
            self.wrong(table.span(), message);
            return None;
        }
        for lines in [&step.offset, &step.limit].into_iter().flatten() {
            if step.read.is_none() {
                self.wrong(lines.span(), "offset and limit belong to `read`: remove the key");
            } else if *lines.get_ref() == 0 {
                self.wrong(lines.span(), "lines count from 1: write at least 1, or leave the key out");
            }
        }
        let action = self.one_action(step)?;
        self.refuse_canary(&action, table.span());
        Some(action)
    }

    fn one_action(&mut self, step: &StepFile) -> Option<Action> {
        if let Some(command) = &step.run {
            self.texts.command_ran();
            return Some(Action::Run { command: self.filled(command)? });
        }
        if let Some(path) = &step.read {
            let lines = |written: &Option<Spanned<u32>>| written.as_ref().map(|lines| *lines.get_ref());
            return Some(Action::Read {
                path: self.path(path)?,
                offset: lines(&step.offset),
                limit: lines(&step.limit),
            });
        }
        if let Some(write) = &step.write {
            return self.write(write);
        }
        if let Some(edit) = &step.edit {
            return self.edit(edit.get_ref());
        }
        if let Some(search) = &step.search {
            let (pattern, path) = self.pattern(search.get_ref())?;
            return Some(Action::Search { pattern, path });
        }
        if let Some(find) = &step.find {
            let (pattern, path) = self.pattern(find.get_ref())?;
            return Some(Action::Find { pattern, path });
        }
        if let Some(used) = &step.r#use {
            return self.used(used);
        }
        let answer = step.answer.as_ref()?;
        Some(Action::Answer { text: self.filled(answer)? })
    }

    fn used(&mut self, table: &Spanned<toml::Table>) -> Option<Action> {
        // What a capability does to files is not followed.
        self.texts.command_ran();
        let mut values = table.get_ref().clone();
        let capability = match values.remove("capability") {
            Some(toml::Value::String(capability)) if !capability.is_empty() => capability,
            Some(_) | None => {
                self.wrong(table.span(), "`use` names its capability: add capability = \"…\"");
                return None;
            }
        };
        let values = serde_json::to_value(values).ok()?.as_object()?.clone();
        Some(Action::Use { capability, values })
    }

    fn write(&mut self, table: &Spanned<WriteFile>) -> Option<Action> {
        let file = table.get_ref();
        let path = self.path(&file.path);
        let content = match (&file.content, &file.content_file) {
            (Some(content), None) => Some(content.get_ref().clone()),
            (None, Some(name)) => self.played_text(name),
            (Some(_), Some(_)) | (None, None) => {
                self.wrong(
                    table.span(),
                    "a write has either `content` or `content-file`: write exactly one of them",
                );
                None
            }
        };
        let (path, content) = (path?, content?);
        self.texts.set(&path, content.clone());
        Some(Action::Write { path, content })
    }

    fn played_text(&mut self, name: &Spanned<String>) -> Option<String> {
        let value = self.path(name)?;
        if !value.starts_with(&format!("{PLAYED_DIR}/")) {
            let message = format!(
                "`{value}` does not stand below {PLAYED_DIR}/, the folder of texts that a plan writes: move it there"
            );
            self.wrong(name.span(), message);
            return None;
        }
        match fs::read_to_string(self.task.dir.join(&value)) {
            Ok(text) => Some(text),
            Err(error) => {
                self.wrong(
                    name.span(),
                    format!("`{value}` in the task's folder cannot be read as text: {error}"),
                );
                None
            }
        }
    }

    fn edit(&mut self, file: &EditFile) -> Option<Action> {
        let path = self.path(&file.path)?;
        let (old, new) = (file.old.get_ref(), file.new.get_ref());
        if old.is_empty() || old == new {
            self.wrong(
                file.old.span(),
                "the edit changes nothing: `old` must be some text and differ from `new`",
            );
            return None;
        }
        let whole = match self.texts.of(&path) {
            KnownText::Text(text) => {
                let times = text.matches(old.as_str()).count();
                if times != 1 {
                    let message = format!(
                        "the old text stands {times} times in `{path}` at this step and must stand there exactly once: {}",
                        if times == 0 {
                            "copy it from the file as it is then"
                        } else {
                            "add lines around it"
                        }
                    );
                    self.wrong(file.old.span(), message);
                    return None;
                }
                Some(text.replacen(old.as_str(), new, 1))
            }
            KnownText::Unknown => None,
            KnownText::Absent => {
                let message = format!(
                    "`{path}` does not exist at this step: nothing in workspace/ and no step before has made it"
                );
                self.wrong(file.path.span(), message);
                return None;
            }
        };
        if let Some(whole) = &whole {
            self.texts.set(&path, whole.clone());
        }
        Some(Action::Edit { path, old: old.clone(), new: new.clone(), whole })
    }

    fn pattern(&mut self, file: &SearchFile) -> Option<(String, String)> {
        let pattern = self.filled(&file.pattern);
        let path = self.path(&file.path);
        Some((pattern?, path?))
    }

    fn filled(&mut self, written: &Spanned<String>) -> Option<String> {
        if written.get_ref().trim().is_empty() {
            self.wrong(written.span(), "the text is empty: write it, or remove the step");
            return None;
        }
        Some(written.get_ref().clone())
    }

    fn path(&mut self, written: &Spanned<String>) -> Option<String> {
        let path = written.get_ref();
        let escapes = path.starts_with(['/', '~']) || path.split('/').any(|part| part == "..");
        if path.is_empty() || escapes {
            let message = format!("`{path}` does not stay in its folder: write a relative path without `..`");
            self.wrong(written.span(), message);
            return None;
        }
        Some(path.clone())
    }

    fn refuse_canary(&mut self, action: &Action, span: Range<usize>) {
        let said = serde_json::to_string(action).unwrap_or_default();
        let texts: Vec<&String> = match action {
            Action::Run { command } => vec![command],
            Action::Read { path, .. } => vec![path],
            Action::Write { path, content } => vec![path, content],
            Action::Edit { path, old, new, .. } => vec![path, old, new],
            Action::Search { pattern, path } | Action::Find { pattern, path } => vec![pattern, path],
            Action::Use { .. } => vec![&said],
            Action::Answer { text } => vec![text],
        };
        if texts.iter().any(|text| text.contains(&self.task.canary)) {
            self.wrong(span, "the step says the canary, so that the plan would look like a leak: keep the canary in a comment");
        }
    }

    fn wrong(&mut self, span: Range<usize>, message: impl Into<String>) {
        self.problems.push(self.source.at(span, message));
    }
}

/// The action keys that a step has.
fn words(step: &StepFile) -> Vec<&'static str> {
    [
        ("run", step.run.is_some()),
        ("read", step.read.is_some()),
        ("write", step.write.is_some()),
        ("edit", step.edit.is_some()),
        ("search", step.search.is_some()),
        ("find", step.find.is_some()),
        ("use", step.r#use.is_some()),
        ("answer", step.answer.is_some()),
        ("together", step.together.is_some()),
    ]
    .into_iter()
    .filter_map(|(word, written)| written.then_some(word))
    .collect()
}

/// Why actions of one turn depend on one another; `None` when their order cannot matter.
fn dependence(actions: &[Action]) -> Option<String> {
    let changed = |action: &Action| match action {
        Action::Write { path, .. } | Action::Edit { path, .. } => Some(path.clone()),
        Action::Run { .. }
        | Action::Read { .. }
        | Action::Search { .. }
        | Action::Find { .. }
        | Action::Use { .. }
        | Action::Answer { .. } => None,
    };
    let touches = |action: &Action, file: &str| match action {
        Action::Write { path, .. } | Action::Edit { path, .. } | Action::Read { path, .. } => path == file,
        Action::Run { .. } | Action::Search { .. } | Action::Find { .. } | Action::Use { .. } => true,
        Action::Answer { .. } => false,
    };
    for (index, action) in actions.iter().enumerate() {
        let Some(file) = changed(action) else { continue };
        let other =
            actions.iter().enumerate().find(|(place, other)| *place != index && touches(other, &file));
        if let Some((_, other)) = other {
            return Some(format!("`{file}` is changed while a {} may see it", other.kind().word()));
        }
    }
    None
}
