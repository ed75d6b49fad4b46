//! The small shell of the filesystem shape: looks through a tree of declarations that exists in memory alone. It starts no
//! program and opens no file, so there is nothing that it could change or reach.

use std::collections::BTreeSet;

use bench_code::Functions;
use grep_matcher::Matcher as _;
use grep_regex::RegexMatcherBuilder;

/// Where the tree begins.
const ROOT: &str = "/sdk";

/// Runs a command line over the tree and gives what it prints.
///
/// # Errors
/// What it cannot do.
pub(crate) fn execute(line: &str, functions: &Functions) -> Result<String, String> {
    let tree = Tree { files: functions.files() };
    let mut here = ROOT.to_owned();
    let mut printed = String::new();
    for (command, only_after_success) in split(line)? {
        let before = printed.len();
        match pipeline(&command, &tree, &mut here) {
            Ok(text) => printed.push_str(&text),
            Err(why) if only_after_success || printed.is_empty() => return Err(why),
            Err(why) => printed.push_str(&format!("{why}\n")),
        }
        if printed.len() > before && !printed.ends_with('\n') {
            printed.push('\n');
        }
    }
    Ok(if printed.is_empty() { "[No output.]".to_owned() } else { printed })
}

struct Tree {
    /// Path below the root, and content.
    files: Vec<(String, String)>,
}

impl Tree {
    fn file(&self, path: &str) -> Option<&str> {
        let inner = path.strip_prefix(ROOT)?.trim_start_matches('/');
        self.files.iter().find(|(name, _)| name == inner).map(|(_, text)| text.as_str())
    }

    /// Every path, folders among them.
    fn paths(&self) -> BTreeSet<String> {
        let mut paths = BTreeSet::from([ROOT.to_owned()]);
        for (name, _) in &self.files {
            if let Some((folder, _)) = name.rsplit_once('/') {
                paths.insert(format!("{ROOT}/{folder}"));
            }
            paths.insert(format!("{ROOT}/{name}"));
        }
        paths
    }

    fn is_folder(&self, path: &str) -> bool {
        self.file(path).is_none() && self.paths().contains(path)
    }

    /// What stands directly in a folder.
    fn entries(&self, folder: &str) -> Vec<String> {
        let below = format!("{folder}/");
        let inside =
            |path: &String| path.strip_prefix(&below).filter(|rest| !rest.contains('/')).map(str::to_owned);
        self.paths().iter().filter_map(inside).collect()
    }

    /// Files at or below a path.
    fn files_below(&self, path: &str) -> Vec<String> {
        let below = format!("{path}/");
        self.paths()
            .into_iter()
            .filter(|p| (p == path || p.starts_with(&below)) && self.file(p).is_some())
            .collect()
    }
}

/// The words of each command of a pipe.
type Pipe = Vec<Vec<String>>;

/// The pipes of a line, each with whether it wants the one before it to have succeeded.
fn split(line: &str) -> Result<Vec<(Pipe, bool)>, String> {
    let mut commands = Vec::new();
    let (mut pipes, mut words, mut word): (Vec<Vec<String>>, Vec<String>, Option<String>) =
        Default::default();
    let mut after_success = false;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                let quoted: String = chars.by_ref().take_while(|next| *next != c).collect();
                word.get_or_insert_default().push_str(&quoted);
            }
            '\\' => word.get_or_insert_default().extend(chars.next()),
            '>' | '<' | '`' | '$' => {
                return Err(format!("{c} is not understood here; the tree is read-only"));
            }
            ' ' | '\t' | '\n' | ';' | '|' | '&' => {
                words.extend(word.take());
                if c == '|' && chars.next_if_eq(&'|').is_none() {
                    pipes.push(std::mem::take(&mut words));
                } else if !matches!(c, ' ' | '\t') {
                    let both = c == '&' && chars.next_if_eq(&'&').is_some();
                    pipes.push(std::mem::take(&mut words));
                    commands.push((std::mem::take(&mut pipes), after_success));
                    after_success = both;
                }
            }
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    pipes.push(words);
    commands.push((pipes, after_success));
    commands.retain(|(pipes, _)| pipes.iter().any(|words| !words.is_empty()));
    Ok(commands)
}

fn pipeline(commands: &[Vec<String>], tree: &Tree, here: &mut String) -> Result<String, String> {
    let mut input: Option<String> = None;
    for words in commands {
        input = Some(command(words, input, tree, here)?);
    }
    Ok(input.unwrap_or_default())
}

fn command(
    words: &[String],
    input: Option<String>,
    tree: &Tree,
    here: &mut String,
) -> Result<String, String> {
    let Some((name, rest)) = words.split_first() else { return Err("a command is missing".to_owned()) };
    let (flags, names): (Vec<&String>, Vec<&String>) =
        rest.iter().partition(|word| word.starts_with('-') && word.len() > 1 && name != "find");
    let texts = |names: &[&String]| -> Result<String, String> {
        match (&input, names.is_empty()) {
            (Some(input), true) => Ok(input.clone()),
            (None, true) => Err(format!("{name}: name a file")),
            (_, false) => {
                let paths =
                    names.iter().map(|name| matching(tree, here, name)).collect::<Result<Vec<_>, _>>()?;
                let read =
                    |path: &String| tree.file(path).ok_or_else(|| format!("{name}: {path}: is a folder"));
                paths.iter().flatten().map(read).collect()
            }
        }
    };
    match name.as_str() {
        "pwd" => Ok(format!("{here}\n")),
        "echo" => Ok(format!("{}\n", rest.join(" "))),
        "true" => Ok(String::new()),
        "cd" => {
            let to = place(here, rest.first().map_or(ROOT, String::as_str));
            if !tree.is_folder(&to) {
                return Err(format!("cd: {to}: no such folder"));
            }
            *here = to;
            Ok(String::new())
        }
        "ls" => ls(tree, here, &names, flags.iter().any(|flag| flag.contains('R'))),
        "tree" => ls(tree, here, &names, true),
        "cat" => texts(&names),
        "sort" => Ok(sorted(&texts(&names)?)),
        "head" | "tail" => {
            let (count, names) = count_of(&flags, &names);
            let text = texts(&names)?;
            let lines: Vec<&str> = text.lines().collect();
            let from = if name == "tail" { lines.len().saturating_sub(count) } else { 0 };
            Ok(lines.iter().skip(from).take(count).map(|line| format!("{line}\n")).collect())
        }
        "wc" => {
            let text = texts(&names)?;
            let (lines, words) = (text.lines().count(), text.split_whitespace().count());
            Ok(if flags.iter().any(|flag| flag.contains('l')) {
                format!("{lines}\n")
            } else {
                format!("{lines} {words} {}\n", text.len())
            })
        }
        "grep" | "rg" => grep(tree, here, &flags, &names, input.as_deref()),
        "find" => find(tree, here, rest),
        other => Err(format!(
            "{other}: not found; there are ls, cat, head, tail, grep, find, tree, wc, sort, pwd, cd and echo, over {ROOT}"
        )),
    }
}

fn sorted(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A path, whole and without dots.
fn place(here: &str, path: &str) -> String {
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{here}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// The paths that a name or pattern means.
fn matching(tree: &Tree, here: &str, name: &str) -> Result<Vec<String>, String> {
    let wanted = place(here, name);
    let paths = tree.paths();
    if paths.contains(&wanted) {
        return Ok(vec![wanted]);
    }
    let glob = globset::GlobBuilder::new(&wanted).literal_separator(true).build();
    let glob = glob.map_err(|error| error.to_string())?.compile_matcher();
    let found: Vec<String> = paths.into_iter().filter(|path| glob.is_match(path)).collect();
    if found.is_empty() { Err(format!("{wanted}: no such file or folder")) } else { Ok(found) }
}

fn ls(tree: &Tree, here: &str, names: &[&String], deep: bool) -> Result<String, String> {
    let folder = here.to_owned();
    let names: Vec<&String> = if names.is_empty() { vec![&folder] } else { names.to_vec() };
    let mut text = String::new();
    for name in names {
        for path in matching(tree, here, name)? {
            match (tree.is_folder(&path), deep) {
                (false, _) => text.push_str(&format!("{path}\n")),
                (true, false) => {
                    tree.entries(&path).iter().for_each(|entry| text.push_str(&format!("{entry}\n")))
                }
                (true, true) => {
                    tree.files_below(&path).iter().for_each(|file| text.push_str(&format!("{file}\n")))
                }
            }
        }
    }
    Ok(text)
}

/// Of `-5`, `-n5` or `-n 5`: how many lines, and the names without that number.
fn count_of<'n>(flags: &[&String], names: &[&'n String]) -> (usize, Vec<&'n String>) {
    let mut names = names.to_vec();
    for flag in flags {
        if let Ok(count) = flag.trim_start_matches(['-', 'n']).parse() {
            return (count, names);
        }
        if flag.as_str() == "-n"
            && let Some(count) = names.first().and_then(|name| name.parse().ok())
        {
            names.remove(0);
            return (count, names);
        }
    }
    (10, names)
}

fn grep(
    tree: &Tree,
    here: &str,
    flags: &[&String],
    names: &[&String],
    input: Option<&str>,
) -> Result<String, String> {
    let has = |letter: char| flags.iter().any(|flag| !flag.starts_with("--") && flag.contains(letter));
    let Some((pattern, names)) = names.split_first() else {
        return Err("grep: a pattern is missing".to_owned());
    };
    let matcher =
        RegexMatcherBuilder::new().case_insensitive(has('i')).fixed_strings(has('F')).build(pattern);
    let matcher = matcher.map_err(|error| format!("grep: {error}"))?;
    let hit = |line: &str| matcher.is_match(line.as_bytes()).unwrap_or(false) != has('v');
    if let (Some(input), true) = (input, names.is_empty()) {
        return Ok(input.lines().filter(|line| hit(line)).map(|line| format!("{line}\n")).collect());
    }
    let here_name = here.to_owned();
    let names: Vec<&String> = if names.is_empty() { vec![&here_name] } else { names.to_vec() };
    let mut text = String::new();
    for name in names {
        for path in matching(tree, here, name)?.iter().flat_map(|path| tree.files_below(path)) {
            let lines =
                tree.file(&path).unwrap_or_default().lines().enumerate().filter(|(_, line)| hit(line));
            for (at, line) in lines {
                if has('l') {
                    text.push_str(&format!("{path}\n"));
                    break;
                }
                let number = if has('n') { format!("{}:", at + 1) } else { String::new() };
                text.push_str(&format!("{path}:{number}{line}\n"));
            }
        }
    }
    Ok(text)
}

fn find(tree: &Tree, here: &str, words: &[String]) -> Result<String, String> {
    let from = words.first().filter(|word| !word.starts_with('-')).map_or(here, String::as_str);
    let after = |flag: &str| words.iter().position(|word| word == flag).and_then(|at| words.get(at + 1));
    let glob = after("-name").or_else(|| after("-iname")).map_or("*", String::as_str);
    let glob = globset::Glob::new(glob).map_err(|error| error.to_string())?.compile_matcher();
    let from = place(here, from);
    let below = format!("{from}/");
    let kind = after("-type").map(String::as_str);
    let wanted = |path: &String| {
        let name = path.rsplit('/').next().unwrap_or_default();
        let of_kind = match kind {
            Some("d") => tree.is_folder(path),
            Some("f") => tree.file(path).is_some(),
            _ => true,
        };
        (*path == from || path.starts_with(&below)) && of_kind && glob.is_match(name)
    };
    Ok(tree.paths().iter().filter(|path| wanted(path)).map(|path| format!("{path}\n")).collect())
}

#[cfg(test)]
mod tests {
    use bench_code::{Callback, Reach};
    use serde_json::{Value, json};

    use super::*;

    fn told(line: &str) -> String {
        let callback = |tool: &str| Callback {
            tool: tool.into(),
            owner: "agent".into(),
            description: format!("Does {tool}."),
            parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
            annotations: Value::Null,
            reach: Reach::Model,
        };
        let functions = Functions::of(&[callback("read"), callback("svc__list")]);
        execute(line, &functions).unwrap_or_else(|why| format!("Error: {why}"))
    }

    #[test]
    fn what_the_shell_shows_in_one_table() {
        for (line, text) in [
            ("ls", "Agent\nREADME.md\nSvc\n"),
            ("ls /sdk/Agent", "read.d.ts\n"),
            ("cd Svc && ls; pwd", "list.d.ts\n/sdk/Svc\n"),
            ("find . -name '*.d.ts' -type f", "/sdk/Agent/read.d.ts\n/sdk/Svc/list.d.ts\n"),
            ("grep -rl 'Does svc' /sdk", "/sdk/Svc/list.d.ts\n"),
            ("cat */read.d.ts | grep -c nothing | wc -l", "0\n"),
            ("cat Agent/read.d.ts | head -1", "/** Does read. */\n"),
            ("tree Agent", "/sdk/Agent/read.d.ts\n"),
            ("cat /etc/passwd", "Error: /etc/passwd: no such file or folder"),
            ("cat ../../etc/passwd", "Error: /etc/passwd: no such file or folder"),
            ("echo x > /sdk/y", "Error: > is not understood here; the tree is read-only"),
            ("echo $(id)", "Error: $ is not understood here; the tree is read-only"),
            (
                "rm -rf /",
                "Error: rm: not found; there are ls, cat, head, tail, grep, find, tree, wc, sort, pwd, cd and echo, over /sdk",
            ),
            ("", "[No output.]"),
            ("ls '", "Agent\nREADME.md\nSvc\n"),
        ] {
            let told = told(line);
            let whole = told == text || line == "ls '" && told.starts_with("Error");
            assert!(whole, "{line}: {told:?} instead of {text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_line_panics(line in "[a-z /.*'\"|&;\\\\$>-]{0,40}|(ls|cat|grep|find|head|tail) [a-zA-Z/.*-]{0,12}") {
            let _ = told(&line);
        }
    }
}
