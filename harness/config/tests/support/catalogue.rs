//! A catalogue like the one that the binary fills, for the tests of this crate.

use bench_core::{AgentId, Catalogue, SuiteId, SurfaceId, TaskId};

/// Agents `reference`, `pi`, `codex`, `claude`, `command`; suites `default`, `smoke` and `orchestration`; two tokenizers.
pub(crate) fn catalogue() -> Catalogue {
    let surfaces =
        |names: &[&str]| names.iter().map(|name| SurfaceId::new(*name).unwrap()).collect::<Vec<_>>();
    let tasks = |names: &[&str]| names.iter().map(|name| TaskId::new(*name).unwrap()).collect::<Vec<_>>();
    let reference = surfaces(&[
        "bare",
        "loaded",
        "gateway",
        "entries",
        "explicit",
        "all",
        "headless",
        "search-tail",
        "search-result",
        "devices",
        "native",
        "code-mode",
        "code-eval",
        "code-catalog",
        "code-filesystem",
        "code-sidecar",
        "code-exec",
        "code-mixed",
        "code-servers",
        "bare-servers",
        "lsp",
        "hashline",
        "code-capabilities",
    ]);
    Catalogue {
        agents: [
            ("reference", reference.clone()),
            ("reference-responses", reference.clone()),
            ("reference-messages", reference),
            ("pi", surfaces(&["four-tools", "seven-builtins", "codemode", "codemode-only"])),
            ("codex", surfaces(&["default", "code-mode", "code-mode-only"])),
            ("claude", surfaces(&["bare", "default"])),
            ("command", surfaces(&["own"])),
            ("python", surfaces(&["as-is"])),
        ]
        .map(|(agent, surfaces)| (AgentId::new(agent).unwrap(), surfaces))
        .into(),
        suites: [
            ("default", tasks(&["one", "two", "three"])),
            ("smoke", tasks(&["hello"])),
            ("orchestration", tasks(&["four"])),
        ]
        .map(|(suite, tasks)| (SuiteId::new(suite).unwrap(), tasks))
        .into(),
        tokenizers: vec!["o200k_base".to_owned(), "cl100k_base".to_owned()],
    }
}
