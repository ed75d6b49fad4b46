//! One language server: which one fits a file, how it is started, and the files that it has been told of.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};

use super::client::{Client, NoAnswer};
use super::documents::{self, Documents};
use super::positions::Encoding;
use crate::capabilities::bell::Cancel;
use crate::start::program_on_path;

/// A language and who serves it.
struct Language {
    name: &'static str,
    /// Endings of its files with the protocol's name for each.
    endings: &'static [(&'static str, &'static str)],
    /// Programs that serve it, the newest release first.
    programs: &'static [&'static str],
    /// With what they are started; `{folder}` is the workspace.
    args: &'static [&'static str],
    /// What they are told of the workspace beside the protocol's own.
    options: Options,
}

/// `initializationOptions` for a workspace.
type Options = fn(&Path) -> Value;

/// Keeps to the workspace: no index on disk, no configuration of the user's, no search for build files above it.
const CLANGD: [&str; 6] = [
    "--background-index=false",
    "--enable-config=false",
    "--compile-commands-dir={folder}",
    "--pch-storage=memory",
    "--log=error",
    "-j=2",
];
const LANGUAGES: [Language; 1] = [Language {
    name: "C and C++",
    endings: &[
        ("c", "c"),
        ("h", "c"),
        ("cc", "cpp"),
        ("cpp", "cpp"),
        ("cxx", "cpp"),
        ("hh", "cpp"),
        ("hpp", "cpp"),
    ],
    programs: &["clangd", "clangd-23", "clangd-22", "clangd-21", "clangd-20", "clangd-19"],
    args: &CLANGD,
    options: clangd_options,
}];

/// Endings that only C++ has.
const CPP: [&str; 5] = ["cc", "cpp", "cxx", "hh", "hpp"];

/// Without a list of build commands clangd takes a header for C++, whose names it holds apart from those of C.
fn clangd_options(folder: &Path) -> Value {
    let cpp: Vec<_> = CPP.iter().map(|ending| ((*ending).to_owned(), String::new())).collect();
    match documents::sources(folder, &cpp).is_empty() {
        true => json!({"fallbackFlags": ["-xc"]}),
        false => json!({}),
    }
}

/// A server that can be started here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    /// By which it is called in errors.
    name: String,
    argv: Vec<String>,
    /// Endings of the files that it is told of, with the protocol's name of their language.
    endings: Vec<(String, String)>,
    options: Value,
}

/// The server that is asked for, or the one that fits the file.
pub(super) fn choose(asked: Option<&str>, file: &Path, folder: &Path) -> Result<Choice, String> {
    let ending = file.extension().map(|ending| ending.to_string_lossy().into_owned()).unwrap_or_default();
    let language = LANGUAGES.iter().find(|language| language.endings.iter().any(|(own, _)| *own == ending));
    if let Some(line) = asked.filter(|line| !line.trim().is_empty()) {
        let endings = language.map_or_else(|| vec![(ending.clone(), ending)], Language::owned_endings);
        return other(line, endings);
    }
    let Some(language) = language else {
        return Err(format!(
            "no language server is known for files that end in {ending:?}; known are servers for {}, or give server, a command line",
            LANGUAGES.map(|language| language.name).join(", ")
        ));
    };
    let found = language.programs.iter().find_map(|name| Some((*name, program_on_path(name)?)));
    let (name, program) = found.ok_or_else(|| {
        let programs = language.programs.join(", ");
        format!("no language server for {} is installed here (looked for {programs} on PATH)", language.name)
    })?;
    let argv = std::iter::once(program).chain(language.args.iter().map(|arg| (*arg).to_owned()));
    let (name, argv, endings) = (name.to_owned(), argv.collect(), language.owned_endings());
    Ok(Choice { name, argv, endings, options: (language.options)(folder) })
}

fn other(line: &str, endings: Vec<(String, String)>) -> Result<Choice, String> {
    let mut argv: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let found = program_on_path(&argv[0])
        .ok_or_else(|| format!("there is no language server {:?} here; give a command line", argv[0]))?;
    let name = std::mem::replace(&mut argv[0], found);
    Ok(Choice { name, argv, endings, options: Value::Null })
}

impl Language {
    fn owned_endings(&self) -> Vec<(String, String)> {
        self.endings.iter().map(|(ending, id)| ((*ending).to_owned(), (*id).to_owned())).collect()
    }
}

/// A server that has been greeted.
#[derive(Debug)]
pub(super) struct Server {
    choice: Choice,
    client: Client,
    folder: PathBuf,
    encoding: Encoding,
    documents: Documents,
}

impl Server {
    /// Starts it and waits until it takes questions. One that does not is ended.
    pub(super) fn start(
        choice: Choice,
        folder: &Path,
        cancel: &Cancel,
        deadline: Instant,
    ) -> Result<Self, String> {
        let shown = folder.to_string_lossy();
        let argv: Vec<String> = choice.argv.iter().map(|arg| arg.replace("{folder}", &shown)).collect();
        let mut client = Client::start(&argv, folder, cancel)
            .map_err(|error| format!("the language server {} cannot be started: {error}", choice.name))?;
        let introduction = json!({
            "processId": std::process::id(),
            "rootUri": documents::uri(folder),
            "initializationOptions": choice.options,
            "workspaceFolders": [{"uri": documents::uri(folder), "name": "workspace"}],
            "capabilities": {
                "general": {"positionEncodings": ["utf-8", "utf-16"]},
                "workspace": {"workspaceEdit": {"documentChanges": true}, "configuration": true},
                "textDocument": {
                    "synchronization": {},
                    "publishDiagnostics": {"versionSupport": true},
                    "definition": {},
                    "references": {},
                    "rename": {},
                },
            },
        });
        let able = client
            .ask("initialize", introduction, deadline)
            .map_err(|why| told(&choice.name, "initialize", why))?;
        client.tell("initialized", json!({}));
        let encoding = Encoding::named(able["capabilities"]["positionEncoding"].as_str());
        let documents = Documents::default();
        Ok(Self { choice, client, folder: folder.to_owned(), encoding, documents })
    }

    /// Is it the server that was chosen? What it was told of the workspace at its start is no part of that.
    pub(super) fn is(&self, choice: &Choice) -> bool {
        self.choice.argv == choice.argv && self.choice.endings == choice.endings
    }

    pub(super) fn is_alive(&self) -> bool {
        self.client.is_alive()
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Files of the workspace that are too many to be told of.
    pub(super) fn left_out(&self) -> usize {
        self.documents.left_out
    }

    /// Tells the server of its files as they are on disk now, this one among them.
    pub(super) fn look_again(&mut self, file: &Path) -> Result<(), String> {
        let changed = self.documents.look(&self.folder, file, &self.choice.endings)?;
        for (method, params) in changed {
            let uri = params["textDocument"]["uri"].as_str().unwrap_or_default().to_owned();
            // What was published about the text before says nothing about this one.
            self.client.inbox().published.remove(&uri);
            self.client.tell(method, params);
        }
        Ok(())
    }

    /// The text of a file that the server has been told of.
    pub(super) fn text_of(&self, file: &Path) -> &str {
        self.documents.text(file).unwrap_or_default()
    }

    /// Asks a question.
    pub(super) fn ask(&mut self, method: &str, params: Value, deadline: Instant) -> Result<Value, String> {
        self.client.ask(method, params, deadline).map_err(|why| told(&self.choice.name, method, why))
    }

    /// Waits until the server has looked through every file that it was told of: before that it knows only of some.
    pub(super) fn settle(&self, deadline: Instant) -> Result<(), String> {
        let versions = self.documents.versions();
        let total = versions.len();
        let mut missing = total;
        let settled = self.client.until(deadline, |inbox| {
            let is_through = |(uri, version): &&(String, i64)| {
                let published = inbox.published.get(uri);
                published.is_some_and(|said| said.version.is_none_or(|said| said == *version))
            };
            missing = versions.iter().filter(|document| !is_through(document)).count();
            (missing == 0).then_some(())
        });
        settled.map_err(|why| match why {
            NoAnswer::TimedOut => format!(
                "language server {}: it has not looked through {missing} of {total} files within the timeout; ask again with a longer one",
                self.choice.name
            ),
            NoAnswer::Refused(_) | NoAnswer::Cancelled | NoAnswer::Gone(_) => {
                told(&self.choice.name, "diagnostics", why)
            }
        })
    }

    /// What it has published about a file.
    pub(super) fn diagnostics(&self, file: &Path) -> Vec<Value> {
        let published = self.client.inbox().published.get(&documents::uri(file)).cloned();
        published.unwrap_or_default().diagnostics
    }
}

/// What the model is told.
fn told(server: &str, method: &str, why: NoAnswer) -> String {
    let why = match why {
        NoAnswer::Refused(why) | NoAnswer::Gone(why) => why,
        NoAnswer::TimedOut => format!("no answer to {method} within the timeout; nothing was changed"),
        NoAnswer::Cancelled => format!("the wait for {method} was cancelled; nothing was changed"),
    };
    format!("language server {server}: {why}")
}
