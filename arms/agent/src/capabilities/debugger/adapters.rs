//! Which debug adapter drives a program, how it is started, and what it wants to be told at launch.

use serde_json::{Map, Value, json};

use super::Asked;
use crate::start::program_on_path;

/// How an adapter wants to be spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Lldb,
    Debugpy,
    /// Plain DAP.
    Plain,
}

/// An adapter that can be started here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Adapter {
    pub(super) name: String,
    pub(super) dialect: Dialect,
    pub(super) argv: Vec<String>,
}

/// The newest release first.
const LLDB: [&str; 9] = [
    "lldb-dap",
    "lldb-dap-23",
    "lldb-dap-22",
    "lldb-dap-21",
    "lldb-dap-20",
    "lldb-dap-19",
    "lldb-dap-18",
    "lldb-dap-17",
    "lldb-vscode",
];
const PYTHON: [&str; 2] = ["python3", "python"];
/// Looks for symbols on this machine alone, and runs nothing that a program brings along for its debugger.
const LLDB_INIT: [&str; 3] = [
    "settings set symbols.enable-external-lookup false",
    "settings set target.load-script-from-symbol-file false",
    "settings set target.load-cwd-lldbinit false",
];

/// The adapter that is asked for, or the one that fits the program.
pub(super) fn choose(asked: &Asked) -> Result<Adapter, String> {
    let is_python = asked.program.as_deref().is_some_and(|program| program.ends_with(".py"));
    match asked.adapter.as_deref() {
        Some("lldb") => lldb(),
        Some("debugpy") => debugpy(),
        Some(line) if !line.trim().is_empty() => other(line),
        Some(_) | None if is_python || asked.module.is_some() => debugpy(),
        Some(_) | None => lldb(),
    }
}

fn lldb() -> Result<Adapter, String> {
    let found = LLDB.iter().find_map(|name| program_on_path(name)).ok_or_else(|| {
        format!(
            "no debug adapter for compiled programs is installed here (looked for {} on PATH)",
            LLDB.join(", ")
        )
    })?;
    Ok(Adapter { name: "lldb".into(), dialect: Dialect::Lldb, argv: vec![found] })
}

fn debugpy() -> Result<Adapter, String> {
    let python = PYTHON.iter().find_map(|name| program_on_path(name)).ok_or_else(|| {
        "no debug adapter for Python is installed here (looked for python3 on PATH)".to_owned()
    })?;
    let argv = vec![python, "-m".into(), "debugpy.adapter".into()];
    Ok(Adapter { name: "debugpy".into(), dialect: Dialect::Debugpy, argv })
}

fn other(line: &str) -> Result<Adapter, String> {
    let mut argv: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let found = program_on_path(&argv[0]).ok_or_else(|| {
        format!(
            "there is no debug adapter {:?} here; known are lldb and debugpy, or give a command line",
            argv[0]
        )
    })?;
    let name = std::mem::replace(&mut argv[0], found);
    Ok(Adapter { name, dialect: Dialect::Plain, argv })
}

impl Adapter {
    /// Arguments of `launch`.
    ///
    /// A cell has no terminals to give: lldb's program prints into `printed`, a file, where debugpy hands output on by
    /// itself.
    pub(super) fn launch(&self, asked: &Asked, folder: &str, printed: &str) -> Value {
        let mut arguments = Map::new();
        let mut set = |key: &str, value: Value| {
            arguments.insert(key.to_owned(), value);
        };
        if let Some(program) = &asked.program {
            set("program", json!(std::path::Path::new(folder).join(program)));
        }
        set("args", json!(asked.args));
        set(
            "cwd",
            json!(asked.cwd.as_ref().map_or(folder.to_owned(), |cwd| {
                std::path::Path::new(folder).join(cwd).to_string_lossy().into_owned()
            })),
        );
        set("stopOnEntry", json!(asked.stop_on_entry));
        match self.dialect {
            Dialect::Lldb => {
                set("env", asked.env.iter().map(|(name, value)| json!(format!("{name}={value}"))).collect());
                let streams = [("input", "/dev/null"), ("output", printed), ("error", printed)];
                let streams = streams.map(|(name, path)| format!("settings set target.{name}-path {path:?}"));
                set(
                    "initCommands",
                    LLDB_INIT.iter().map(|line| json!(line)).chain(streams.map(Value::from)).collect(),
                );
            }
            Dialect::Debugpy => {
                if let Some(module) = &asked.module {
                    set("module", json!(module));
                }
                set("env", json!(asked.env));
                set("type", json!("python"));
                set("request", json!("launch"));
                set("console", json!("internalConsole"));
                set("redirectOutput", json!(true));
                set("justMyCode", json!(false));
                // A forked child would want a connection of its own before it goes on.
                set("subProcess", json!(false));
            }
            Dialect::Plain => set("env", json!(asked.env)),
        }
        Value::Object(arguments)
    }

    /// Arguments of `attach`.
    pub(super) fn attach(&self, asked: &Asked, folder: &str) -> Value {
        let pid = asked.process_id;
        match self.dialect {
            Dialect::Lldb => {
                let program =
                    asked.program.as_ref().map(|program| std::path::Path::new(folder).join(program));
                json!({"pid": pid, "program": program, "stopOnEntry": asked.stop_on_entry, "initCommands": LLDB_INIT})
            }
            Dialect::Debugpy => {
                json!({"type": "python", "request": "attach", "processId": pid, "justMyCode": false, "subProcess": false})
            }
            Dialect::Plain => json!({"processId": pid, "pid": pid}),
        }
    }

    /// Exceptions on which a program stops where nothing else is asked for: those that nobody catches.
    pub(super) fn exceptions(&self, capabilities: &Map<String, Value>) -> Vec<Value> {
        let filters = capabilities.get("exceptionBreakpointFilters").and_then(Value::as_array);
        let uncaught = filters.into_iter().flatten().filter_map(|filter| filter.get("filter"));
        uncaught.filter(|filter| *filter == "uncaught").cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adapter_that_is_not_there_is_named_with_what_was_looked_for() {
        let asked = Asked { adapter: Some("no-such-adapter --x".into()), ..Asked::default() };
        let told = choose(&asked).unwrap_err();
        assert!(told.contains("\"no-such-adapter\"") && told.contains("lldb and debugpy"), "{told}");
    }

    #[test]
    fn each_dialect_is_told_what_it_wants() {
        let adapter = |dialect| Adapter { name: "x".into(), dialect, argv: vec![] };
        let asked = Asked {
            program: Some("a.out".into()),
            env: [("K".to_owned(), "v".to_owned())].into(),
            ..Asked::default()
        };
        let lldb = adapter(Dialect::Lldb).launch(&asked, "/w", "/tmp/out");
        assert_eq!((&lldb["program"], &lldb["env"][0]), (&json!("/w/a.out"), &json!("K=v")));
        assert!(lldb["initCommands"].to_string().contains("target.output-path \\\"/tmp/out\\\""), "{lldb}");
        let python = adapter(Dialect::Debugpy).launch(&asked, "/w", "/tmp/out");
        assert_eq!((&python["console"], &python["env"]["K"]), (&json!("internalConsole"), &json!("v")));
    }
}
