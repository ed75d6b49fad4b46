//! What an agent sends with the recorder between it and the model, against what it sends without: real agents, started
//! once inside a cell and once straight before a provider of the test's own, with the same arguments, files and variables.
//! The agents are installed by `.ci/run`; where they are not, the test names itself as skipped.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use bench_arms::{Catalog, Site};
use bench_core::{AgentId, Arm, ArmId, Program, SurfaceId};
use bench_record::RequestIndex;
use regex::Regex;
use serde_json::Value;

use crate::provider::Provider;
use crate::real_agents::{CLAUDE, CODEX, PI, agents_dir, installed};
use crate::workplace::{Outcome, Workplace, project, walls};

/// Agent, surface and model id.
const ARMS: [(&str, &str, &str, &str); 7] = [
    ("pi", "four-tools", "oracle", PI),
    ("pi", "four-tools-responses", "oracle", PI),
    ("pi", "four-tools-messages", "oracle", PI),
    ("pi", "four-tools-gemini", "oracle", PI),
    ("codex", "default", "oracle", CODEX),
    ("codex", "code-mode-only", "oracle", CODEX),
    ("claude", "default", "claude-sonnet-4-5", CLAUDE),
];
/// The task whose instruction both are given.
const TASK: &str = "hello-file";

#[test]
fn an_agent_sends_the_same_first_request_with_and_without_the_recorder() {
    let test = "an_agent_sends_the_same_first_request_with_and_without_the_recorder";
    if !walls(test) {
        return;
    }
    for (agent, surface, model, package) in ARMS {
        if !installed(test, package) {
            continue;
        }
        let place = Workplace::new();
        let recorded = recorded(&place, (agent, surface, model));
        let direct = direct(&place, (agent, surface, model));
        let (recorded, direct) = (neutral(&place, recorded), neutral(&place, direct));
        let difference = first_difference(&recorded, &direct, String::new());
        assert_eq!(difference, None, "{agent}, {surface}: recorded and direct differ");
    }
}

/// The body of the first request as the recorder kept it.
fn recorded(place: &Workplace, (agent, surface, model): (&str, &str, &str)) -> Value {
    let experiment = format!(
        "name = \"with\"\nrepeats = 1\nsuite = \"smoke\"\ntasks = [\"{TASK}\"]\nmin-isolation = \"L1\"\n[upstream]\nkind = \"oracle\"\n\
         [[arm]]\nname = \"only\"\nagent = \"{agent}\"\nsurface = \"{surface}\"\nmodel = \"{model}\"\n"
    );
    place.file("with.toml", &experiment);
    let mut command = place.command(&["run", "with.toml", "-q", "-o", "with"]);
    command.env("BENCH_AGENTS_DIR", agents_dir());
    Outcome::of(command.output().unwrap()).exits(0);
    let record = &place.records("with")[0];
    let requests =
        RequestIndex::read(&place.path().join("with").join(record["dir"].as_str().unwrap())).unwrap();
    let first = u32::try_from(record["first_request"]["request"].as_u64().unwrap()).unwrap();
    serde_json::from_slice(&requests.body(first).unwrap()).unwrap()
}

/// The body of the first request of the agent's own loop as a provider gets it, with nobody in between.
fn direct(place: &Workplace, (agent, surface, model): (&str, &str, &str)) -> Value {
    // Refused: only what it asked is wanted, and a refusal is not asked again.
    let provider =
        Provider::start(|_, _| (400, String::new(), "{\"error\":{\"message\":\"no\"}}".to_owned()));
    let dir = |name: &str| {
        let dir = place.path().join("direct/0").join(name);
        std::fs::create_dir_all(&dir).unwrap();
        dir
    };
    let (home, workspace, tmp) = (dir("home"), dir("ws"), dir("tmp"));
    let task = project().join("tasks/suites/smoke").join(TASK);
    copied(&task.join("workspace"), &workspace);
    let arm = Arm {
        id: ArmId::new("only").unwrap(),
        agent: AgentId::new(agent).unwrap(),
        surface: SurfaceId::new(surface).unwrap(),
        factors: BTreeMap::new(),
        command: Vec::new(),
        model: model.to_owned(),
        settings: Default::default(),
        capabilities: Default::default(),
        profile: Default::default(),
    };
    let site = Site {
        base_url: provider.base.clone(),
        credential: "test-key-0001".to_owned(),
        instruction: std::fs::read_to_string(task.join("instruction.md")).unwrap(),
        home: home.clone(),
        workspace: workspace.clone(),
    };
    let invocation =
        Catalog::builtin(Some(agents_dir())).unwrap().resolve(&arm).unwrap().invocation(&arm, &site);
    for file in &invocation.files {
        let path = home.join(&file.path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, &file.text).unwrap();
    }
    let Program::Path(program) = &invocation.program else { panic!("a real agent has a program of its own") };
    let mut command = Command::new(program);
    command.args(&invocation.args).current_dir(&workspace).env_clear();
    command.envs([("PATH", "/usr/local/bin:/usr/bin:/bin"), ("LANG", "C.UTF-8"), ("TERM", "dumb")]);
    command.env("HOME", &home).env("TMPDIR", &tmp).env("GIT_CONFIG_NOSYSTEM", "1").envs(&invocation.env);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let asked = provider
        .got()
        .into_iter()
        .map(|got| got.body)
        .find(|body| !body["model"].is_null() || body.get("contents").is_some());
    asked.unwrap_or_else(|| panic!("{agent} asked nothing: {output:?}"))
}

fn copied(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => {
                std::fs::create_dir_all(&to).unwrap();
                copied(&entry.path(), &to);
            }
            false => drop(std::fs::copy(entry.path(), to).unwrap()),
        }
    }
}

/// Without what differs between two equal runs: where they took place, and marks that an agent draws anew each time.
fn neutral(place: &Workplace, body: Value) -> Value {
    // Paths, and names of folders that an agent makes of paths.
    let any = r"(?:state/slots|direct)/\d+/(ws|home|tmp)";
    let folder = place.path().to_str().unwrap();
    let spelt: Regex = format!(r"{}/{any}\b", regex::escape(folder)).parse().unwrap();
    let dashed = |text: &str| text.replace(['/', '.'], "-");
    let made: Regex =
        format!("{}-{}", regex::escape(&dashed(folder)), any.replace('/', "-")).parse().unwrap();
    let text = spelt.replace_all(&body.to_string(), "/$1").into_owned();
    let mut body: Value = serde_json::from_str(&made.replace_all(&text, "-$1")).unwrap();
    let fields = body.as_object_mut().unwrap();
    for drawn in ["metadata", "client_metadata", "prompt_cache_key"] {
        fields.shift_remove(drawn);
    }
    for item in fields.get_mut("input").and_then(Value::as_array_mut).into_iter().flatten() {
        item.as_object_mut().map(|item| item.shift_remove("id"));
    }
    body
}

/// Where two values differ first, with both.
fn first_difference(one: &Value, other: &Value, at: String) -> Option<String> {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            a.iter().find_map(|(key, value)| first_difference(value, &b[key], format!("{at}/{key}")))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().find_map(|(n, (a, b))| first_difference(a, b, format!("{at}/{n}")))
        }
        (Value::String(a), Value::String(b)) if a != b => {
            let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
            let from = a.floor_char_boundary(same.saturating_sub(40));
            let shown = |text: &str| text[from..text.floor_char_boundary(same + 80)].to_owned();
            Some(format!("{at}, byte {same}: {:?} and {:?}", shown(a), shown(b)))
        }
        _ if one == other => None,
        _ => Some(format!("{at}: {one} and {other}")),
    }
}
