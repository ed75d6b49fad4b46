//! The compiled-in catalogue: whole, pinned, and turned into invocations.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use bench_arms::{ArmError, Catalog, ResolvedArm, Site};
use bench_core::experiment::{ModelSettings, Profile};
use bench_core::{AgentId, Arm, ArmId, Invocation, Program, Sha256Hex, Surface, SurfaceId};
use serde_json::{Value, json};

fn catalog() -> Catalog {
    Catalog::builtin(None).unwrap()
}

fn arm(agent: &str, surface: &str) -> Arm {
    Arm {
        id: ArmId::new("tried").unwrap(),
        agent: AgentId::new(agent).unwrap(),
        surface: SurfaceId::new(surface).unwrap(),
        command: Vec::new(),
        model: "some-model".into(),
        settings: ModelSettings::default(),
        capabilities: bench_core::Capabilities::default(),
        factors: std::collections::BTreeMap::new(),
        profile: Profile::default(),
    }
}

fn site() -> Site {
    Site {
        base_url: "http://127.0.0.1:4711/v1".into(),
        credential: "token-1".into(),
        instruction: "Say {model} and \"hello\".".into(),
        home: "/cell/home".into(),
        workspace: "/cell/ws".into(),
    }
}

/// A directory that looks as npm leaves it.
fn installed() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let package = "pi/node_modules/@earendil-works/pi-coding-agent";
    for (path, text) in [
        ("node/node_modules/node/bin/node".to_owned(), ""),
        (format!("{package}/dist/bundle/cli.js"), ""),
        (format!("{package}/package.json"), r#"{"version":"1.6.0"}"#),
        ("pi/package-lock.json".to_owned(), "{}"),
    ] {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    dir
}

fn pi(dir: &Path, arm: &Arm) -> (ResolvedArm, Invocation) {
    let resolved = Catalog::builtin(Some(dir.to_owned())).unwrap().resolve(arm).unwrap();
    let invocation = resolved.invocation(arm, &site());
    (resolved, invocation)
}

#[test]
fn a_runtime_runs_the_arm_s_script() {
    let dir = tempfile::tempdir().unwrap();
    for path in ["python/bin/python3", "python/pyvenv.cfg", "agent.py"] {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    let script = dir.path().join("agent.py").to_string_lossy().into_owned();
    let mut python = arm("python", "as-is");
    let refused = Catalog::builtin(Some(dir.path().to_owned())).unwrap().resolve(&python).unwrap_err();
    assert!(refused.to_string().contains("needs a command line"), "{refused}");
    python.command = vec![script.clone(), "{instruction}".to_owned()];
    let (resolved, invocation) = pi(dir.path(), &python);
    assert_eq!(invocation.program, Program::Path(dir.path().join("python/bin/python3")));
    assert_eq!(invocation.args, [script.clone(), site().instruction]);
    assert_eq!(resolved.readable(), [dir.path().join("python"), script.into()]);
}

#[test]
fn every_agent_and_surface_is_listed() {
    let listed: Vec<String> = catalog()
        .agents()
        .into_iter()
        .map(|(agent, surfaces)| {
            let surfaces: Vec<&str> = surfaces.iter().map(SurfaceId::as_str).collect();
            format!("{agent}: {}", surfaces.join(" "))
        })
        .collect();
    assert_eq!(
        listed,
        [
            "bun: as-is",
            "claude: default bare bash-read",
            "codex: default code-mode code-mode-only",
            "command: as-is",
            "node: as-is",
            "pi: four-tools seven-builtins codemode codemode-only four-tools-responses four-tools-messages \
             four-tools-gemini",
            "python: as-is",
            "reference: all bare bare-servers code-capabilities code-catalog code-eval code-exec code-filesystem code-mixed code-mode code-servers code-sidecar devices entries explicit gateway hashline headless loaded lsp native search-result search-tail",
            "reference-messages: all bare bare-servers code-capabilities code-catalog code-eval code-exec code-filesystem code-mixed code-mode code-servers code-sidecar devices entries explicit gateway hashline headless loaded lsp native search-result search-tail",
            "reference-responses: all bare bare-servers code-capabilities code-catalog code-eval code-exec code-filesystem code-mixed code-mode code-servers code-sidecar devices entries explicit gateway hashline headless loaded lsp native search-result search-tail"
        ]
    );
}

/// Every factor of a surface is part of every result made with it: whoever changes one raises the version.
#[test]
fn what_each_version_of_a_surface_says_is_pinned() {
    let said = |s: &Surface| Sha256Hex::of_json(&(&s.tools, &s.discovery, &s.guidance));
    let factors = |s: &Surface| {
        let around = (&s.prompt, &s.preload, &s.lifecycle);
        Sha256Hex::of_json(&(around, &s.budget, &s.compaction, &s.scheduling))
    };
    let found: Vec<String> = catalog()
        .surfaces()
        .map(|s| {
            let code = match (&s.code, s.servers.as_slice()) {
                (None, []) => String::new(),
                both => format!(" {}", &Sha256Hex::of_json(&both).as_str()[..8]),
            };
            format!(
                "{} {} {} {}{code}",
                s.name,
                s.version,
                &said(s).as_str()[..16],
                &factors(s).as_str()[..8]
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            "all 2 b2a564539b68e603 54918deb",
            "bare 1 588d936b6e909659 52289470",
            "bare-servers 2 588d936b6e909659 52289470 2ba7b861",
            "code-capabilities 1 ac8ce4cb09caced7 5041dc02 a929cd88",
            "code-catalog 1 38394eb84dc41179 52289470 568801cd",
            "code-eval 2 fd885ddaa7e95626 52289470 a929cd88",
            "code-exec 2 38394eb84dc41179 52289470 11ab06f9",
            "code-filesystem 1 38394eb84dc41179 52289470 099f02e4",
            "code-mixed 2 0f527af311c23d3f 52289470 ea5d456b",
            "code-mode 2 38394eb84dc41179 52289470 a929cd88",
            "code-servers 3 38394eb84dc41179 52289470 c837eba4",
            "code-sidecar 1 38394eb84dc41179 52289470 2f6857f8",
            "devices 2 2be059ff74558336 9cbd6431",
            "entries 2 2af1281ba1a6ca77 5041dc02",
            "explicit 2 682a22c3aae07075 85565004",
            "gateway 2 ee30c5713baa6e87 5041dc02",
            "hashline 1 4d70e635c716a20d 52289470",
            "headless 1 438c973656b1d7fb 7b92e61c",
            "loaded 1 ebf18c1a3f3af361 52289470",
            "lsp 1 34e2185b21c3ba5e 52289470",
            "native 2 c7d811cd5bcd0203 52289470",
            "search-result 2 e77eb17b28a9a813 e682bc1c",
            "search-tail 2 da0193d25f78566f 24e64c7b",
        ]
    );
}

#[test]
fn factors_are_taken_from_the_surfaces_that_are_named() {
    let mut arm = arm("reference", "gateway");
    arm.factors.insert(bench_core::SurfaceFactor::Discovery, SurfaceId::new("search-tail").unwrap());
    let made = catalog().resolve(&arm).unwrap().surface.unwrap();
    let base = catalog().resolve(&self::arm("reference", "gateway")).unwrap().surface.unwrap();
    assert_eq!(made.discovery, bench_core::Discovery::SearchAppend);
    assert_eq!((made.tools, made.scheduling), (base.tools, base.scheduling));
}

#[test]
fn lexicons_belong_to_their_agents() {
    let reference = catalog().resolve(&arm("reference", "gateway")).unwrap();
    assert_eq!(reference.lexicon.name, "reference");
    assert_eq!(reference.lexicon.error_prefixes, ["Error: "]);
    let discovery = &reference.lexicon.discovery[0];
    assert_eq!(discovery.load_arguments, json!({"groups": ["{group}"]}));
    // Every group that a rule asks for can be loaded from the gateway's surface, with the rule's tool in it.
    let surface = reference.surface.as_ref().unwrap();
    let kinds: Vec<_> = surface.tools.iter().filter(|tool| tool.group.is_some()).collect();
    for rule in reference.lexicon.rules.iter().filter(|rule| ["fd", "rg"].contains(&rule.tool.as_str())) {
        assert!(kinds.iter().any(|tool| tool.name == rule.tool && tool.group == rule.group), "{rule:?}");
    }
    // The tool of an action's own kind comes before every substitution.
    for rules in [&reference.lexicon.rules, &pi(installed().path(), &arm("pi", "four-tools")).0.lexicon.rules]
    {
        for (index, rule) in rules.iter().enumerate().filter(|(_, rule)| !rule.substitution) {
            assert!(
                !rules[..index].iter().any(|earlier| earlier.action == rule.action && earlier.substitution)
            );
        }
    }
}

#[test]
fn the_reference_agent_is_this_binary_with_everything_in_variables() {
    let arm = arm("reference", "entries");
    let resolved = catalog().resolve(&arm).unwrap();
    assert_eq!((&resolved.agent_version, &resolved.binary), (&None, &None));
    let invocation = resolved.invocation(&arm, &site());
    assert_eq!(invocation.program, Program::Own);
    assert_eq!(invocation.args, ["agent", "--", "Say {model} and \"hello\"."]);
    let variable = |name: &str| invocation.env[name].as_str();
    assert_eq!(variable("BENCH_BASE_URL"), "http://127.0.0.1:4711/v1");
    assert_eq!(variable("BENCH_API_KEY"), "token-1");
    assert_eq!(variable("BENCH_MODEL"), "some-model");
    let surface: Surface = serde_json::from_str(variable("BENCH_SURFACE")).unwrap();
    assert_eq!(Some(&surface), resolved.surface.as_ref());
    assert_eq!(serde_json::from_str::<ModelSettings>(variable("BENCH_SETTINGS")).unwrap(), arm.settings);
    assert_eq!(
        (variable("BENCH_WIRE"), variable("BENCH_CAPABILITIES").contains("tool_search")),
        ("openai-chat", true)
    );
    assert_eq!(invocation.env.len(), 7);
    assert!(invocation.files.is_empty() && invocation.readable.is_empty());
}

#[test]
fn a_command_line_is_taken_as_it_is_but_for_its_placeholders() {
    let script = tempfile::NamedTempFile::new().unwrap();
    let script = script.path().to_str().unwrap();
    let mut arm = arm("command", "as-is");
    arm.command = ["sh", script, "--url={base_url}", "{instruction}", "{home}"].map(str::to_owned).to_vec();
    let resolved = catalog().resolve(&arm).unwrap();
    let invocation = resolved.invocation(&arm, &site());
    let Program::Path(program) = &invocation.program else { panic!("{invocation:?}") };
    assert!(program.is_absolute() && program.ends_with("sh"));
    assert_eq!(
        invocation.args,
        [script, "--url=http://127.0.0.1:4711/v1", "Say {model} and \"hello\".", "{home}"]
    );
    assert_eq!(invocation.readable, [program.clone(), PathBuf::from(script)]);
    assert_eq!(resolved.binary.as_ref(), Some(program));
    for (name, value) in [
        ("OPENAI_BASE_URL", "http://127.0.0.1:4711/v1"),
        ("OPENAI_API_KEY", "token-1"),
        ("BENCH_MODEL", "some-model"),
        ("BENCH_INSTRUCTION", "Say {model} and \"hello\"."),
    ] {
        assert_eq!(invocation.env[name], value);
    }
}

#[test]
fn pi_is_started_by_its_own_node_with_a_provider_that_is_the_recorder() {
    let dir = installed();
    let mut seven = arm("pi", "seven-builtins");
    let (resolved, invocation) = pi(dir.path(), &seven);
    assert_eq!(resolved.agent_version.as_deref(), Some("1.6.0"));
    assert_eq!(resolved.lexicon.name, "pi");
    assert_eq!(invocation.program, Program::Path(dir.path().join("node/node_modules/node/bin/node")));
    assert_eq!(invocation.readable, [dir.path().join("node"), dir.path().join("pi")]);
    let tail = &invocation.args[invocation.args.len() - 5..];
    assert_eq!(
        tail,
        [
            "--no-extensions",
            "--tools",
            "read,bash,edit,write,grep,find,ls",
            "--",
            "Say {model} and \"hello\"."
        ]
    );
    assert!(!invocation.args.contains(&"--thinking".to_owned()));
    assert_eq!(invocation.env["PI_OFFLINE"], "1");
    assert_eq!(invocation.files[0].path, ".pi/agent/models.json");
    let models: Value = serde_json::from_str(&invocation.files[0].text).unwrap();
    let provider = &models["providers"]["bench"];
    assert_eq!(provider["baseUrl"], "http://127.0.0.1:4711/v1");
    assert_eq!(provider["apiKey"], "token-1");
    assert_eq!(provider["models"][0]["id"], "some-model");
    assert_eq!(provider["models"][0]["reasoning"], false);
    assert_eq!(provider["models"][0].get("maxTokens"), None);
    seven.settings = ModelSettings {
        temperature: Some(0.5),
        max_output_tokens: Some(100),
        thinking: Some("low".into()),
        sampling_seed: Some(7),
    };
    let (_, invocation) = pi(dir.path(), &seven);
    let models: Value = serde_json::from_str(&invocation.files[0].text).unwrap();
    let model = &models["providers"]["bench"]["models"][0];
    assert_eq!(model["maxTokens"], 100);
    assert_eq!(model["samplingParams"], json!({"temperature": 0.5, "seed": 7}));
    assert_eq!(model["reasoning"], true);
    assert!(invocation.args.windows(2).any(|pair| pair == ["--thinking", "low"]));
}

#[test]
fn surfaces_of_one_agent_differ_in_digest_and_in_nothing_else() {
    let dir = installed();
    let (four, four_started) = pi(dir.path(), &arm("pi", "four-tools"));
    let (seven, mut seven_started) = pi(dir.path(), &arm("pi", "seven-builtins"));
    assert_ne!(four.surface_sha256, seven.surface_sha256);
    seven_started.args.retain(|arg| !arg.starts_with("--tools") && !arg.starts_with("read,"));
    assert_eq!(four_started, seven_started);
    let digest = |surface: &str| catalog().resolve(&arm("reference", surface)).unwrap().surface_sha256;
    assert_ne!(digest("bare"), digest("loaded"));
}

#[test]
fn what_cannot_be_started_is_named_with_its_remedy() {
    let refused = |arm: &Arm| catalog().resolve(arm).unwrap_err().to_string();
    assert!(refused(&arm("goose", "bare")).ends_with(
        "the agents are bun, claude, codex, command, node, pi, python, reference, reference-messages, reference-responses"
    ));
    assert!(
        refused(&arm("reference", "bear"))
            .contains("its surfaces are all, bare, bare-servers, code-capabilities,")
    );
    assert!(refused(&arm("pi", "bare")).contains("its surfaces are four-tools, seven-builtins, codemode, codemode-only, four-tools-responses, four-tools-messages, \
         four-tools-gemini"));
    assert!(refused(&arm("pi", "four-tools")).contains("set BENCH_AGENTS_DIR"));
    assert!(refused(&arm("command", "as-is")).contains("needs a command line"));
    let mut commanded = arm("command", "as-is");
    commanded.command = vec!["no-such-program-here".into()];
    assert!(refused(&commanded).contains("\"no-such-program-here\""));
    commanded.agent = AgentId::new("reference").unwrap();
    commanded.surface = SurfaceId::new("bare").unwrap();
    assert!(matches!(catalog().resolve(&commanded), Err(ArmError::CommandNotWanted { .. })));
    let dir = installed();
    std::fs::remove_file(dir.path().join("node/node_modules/node/bin/node")).unwrap();
    let missing = Catalog::builtin(Some(dir.path().to_owned())).unwrap().resolve(&arm("pi", "four-tools"));
    let text = missing.unwrap_err().to_string();
    assert!(text.contains("bin/node is missing"), "{text}");
    assert!(
        text.contains(&format!("npm install --prefix {}/node node@26.10.0", dir.path().display())),
        "{text}"
    );
    assert!(text.contains("@earendil-works/pi-coding-agent@1.6.0"), "{text}");
}
