//! Arms: agent, surface, command, model, settings and the oracle's profile.

use std::collections::BTreeMap;

use bench_core::experiment::ProfileKind;
use bench_core::source::{unknown, unknown_to};
use bench_core::{AgentId, Arm, ArmId, Capabilities, Catalogue, ModelSettings, Profile, SurfaceId, Upstream};
use toml::Spanned;

use super::{matrix, numbers, refuse_repeated};
use crate::error::Findings;
use crate::file::{ArmFile, CapabilitiesFile, ExperimentFile, ProfileFile};

const DEFAULT_AGENT: &str = "reference";
const COMMAND_AGENT: &str = "command";
/// Runtimes whose script the arm names.
const RUNTIMES: [&str; 3] = ["bun", "node", "python"];
const ORACLE_MODEL: &str = "oracle";

/// The words of the oracle's profiles.
const PROFILES: [(&str, ProfileKind); 6] = [
    ("perfect", ProfileKind::Perfect),
    ("wanders", ProfileKind::Wanders),
    ("gives-up", ProfileKind::GivesUp),
    ("wrong-arguments", ProfileKind::WrongArguments),
    ("invents-tools", ProfileKind::InventsTools),
    ("never-discovers", ProfileKind::NeverDiscovers),
];

/// An arm that the file names; `checked` is `None` when a finding says what is wrong with it.
pub(super) struct NamedArm {
    pub(super) name: String,
    pub(super) checked: Option<Arm>,
}

/// What all arms share.
pub(super) struct Shared<'a> {
    pub(super) upstream: Option<&'a Upstream>,
    pub(super) catalogue: &'a Catalogue,
    model: Option<&'a Spanned<String>>,
    pub(super) settings: Option<ModelSettings>,
    pub(super) capabilities: Capabilities,
}

/// The arms in the order of the file.
pub(super) fn check(
    file: &ExperimentFile,
    upstream: Option<&Upstream>,
    catalogue: &Catalogue,
    findings: &mut Findings<'_>,
) -> Vec<NamedArm> {
    if file.arm.is_empty() && file.matrix.is_none() {
        findings.missing_from_file("arm", "there is no arm: add at least one [[arm]] table, or [matrix]");
    }
    refuse_repeated("arm", file.arm.iter().map(|arm| &arm.get_ref().name), findings);
    let settings = numbers::settings(file.settings.as_ref(), &ModelSettings::default(), findings);
    let capabilities = capabilities(file.capabilities.as_ref(), &Capabilities::default());
    let shared = Shared { upstream, catalogue, model: file.model.as_ref(), settings, capabilities };
    let mut arms: Vec<NamedArm> = file
        .arm
        .iter()
        .map(|table| NamedArm {
            name: table.get_ref().name.get_ref().clone(),
            checked: arm(table, &shared, findings),
        })
        .collect();
    if let Some(table) = &file.matrix {
        for made in matrix::arms(table, &shared, findings) {
            if arms.iter().any(|arm| arm.name == made.name) {
                findings.wrong(
                    table.span(),
                    format!("the matrix makes an arm `{}`, and one is called so already", made.name),
                );
            }
            arms.push(made);
        }
    }
    arms
}

fn arm(table: &Spanned<ArmFile>, shared: &Shared<'_>, findings: &mut Findings<'_>) -> Option<Arm> {
    let file = table.get_ref();
    let id = findings.id(&file.name, ArmId::new);
    let agent = agent(table, shared.catalogue, findings);
    let surface = agent.as_ref().and_then(|agent| surface(table, agent, shared.catalogue, findings));
    let command = agent.as_ref().and_then(|agent| command(table, agent, findings));
    let model = model(table, shared, findings);
    let settings = match &shared.settings {
        Some(settings) => numbers::settings(file.settings.as_ref(), settings, findings),
        None => None,
    };
    let profile = profile(file.oracle_profile.as_ref(), shared.upstream, findings);
    Some(Arm {
        id: id?,
        agent: agent?,
        surface: surface?,
        factors: BTreeMap::new(),
        command: command?,
        model: model?,
        settings: settings?,
        capabilities: capabilities(file.capabilities.as_ref(), &shared.capabilities),
        profile: profile?,
    })
}

/// Flags with each key of the file in the place of the one above.
fn capabilities(file: Option<&CapabilitiesFile>, above: &Capabilities) -> Capabilities {
    let Some(file) = file else { return above.clone() };
    Capabilities {
        supports_tool_search: file.supports_tool_search.unwrap_or(above.supports_tool_search),
        supports_namespaces: file.supports_namespaces.unwrap_or(above.supports_namespaces),
        freeform_tools: file.freeform_tools.unwrap_or(above.freeform_tools),
        parallel_tool_calls: file.parallel_tool_calls.or(above.parallel_tool_calls),
        supports_code_mode_only: file.supports_code_mode_only.unwrap_or(above.supports_code_mode_only),
    }
}

fn agent(table: &Spanned<ArmFile>, catalogue: &Catalogue, findings: &mut Findings<'_>) -> Option<AgentId> {
    let written = table.get_ref().agent.as_ref();
    let word = written.map_or(DEFAULT_AGENT, |agent| agent.get_ref());
    if let Some(agent) = catalogue.agents.keys().find(|agent| agent.as_str() == word) {
        return Some(agent.clone());
    }
    let known: Vec<&str> = catalogue.agents.keys().map(AgentId::as_str).collect();
    let span = written.map_or_else(|| table.span(), Spanned::span);
    findings.wrong(span, unknown("agent", word, &known));
    None
}

fn surface(
    table: &Spanned<ArmFile>,
    agent: &AgentId,
    catalogue: &Catalogue,
    findings: &mut Findings<'_>,
) -> Option<SurfaceId> {
    let known = &catalogue.agents[agent];
    let words: Vec<&str> = known.iter().map(SurfaceId::as_str).collect();
    let Some(written) = &table.get_ref().surface else {
        if let [only] = known.as_slice() {
            return Some(only.clone());
        }
        let message = format!("agent `{agent}` needs a surface: write one of {}", words.join(", "));
        findings.missing(table.span(), "arm.surface", message);
        return None;
    };
    let found = known.iter().find(|surface| surface.as_str() == written.get_ref());
    if found.is_none() {
        findings.wrong(
            written.span(),
            unknown_to("surface", written.get_ref(), &format!("of agent `{agent}`"), &words),
        );
    }
    found.cloned()
}

fn command(table: &Spanned<ArmFile>, agent: &AgentId, findings: &mut Findings<'_>) -> Option<Vec<String>> {
    let written = table.get_ref().command.as_ref();
    let takes_command = agent.as_str() == COMMAND_AGENT || RUNTIMES.contains(&agent.as_str());
    match written {
        None if takes_command => {
            let example = if agent.as_str() == COMMAND_AGENT { "my-agent" } else { "/path/to/my-agent" };
            let message = format!(
                "agent `{agent}` needs a command line, for example command = [\"{example}\", \"--headless\"]"
            );
            findings.missing(table.span(), "arm.command", message);
            None
        }
        None => Some(Vec::new()),
        Some(written) if !takes_command => {
            let message = format!(
                "agent `{agent}` is started by its adapter and takes no command: remove the key, or write agent = \"command\""
            );
            findings.wrong(written.span(), message);
            None
        }
        Some(written) if written.get_ref().first().is_none_or(String::is_empty) => {
            findings.wrong(
                written.span(),
                "the command names neither program nor script: write it as the first element of the list",
            );
            None
        }
        Some(written) => Some(written.get_ref().clone()),
    }
}

fn model(table: &Spanned<ArmFile>, shared: &Shared<'_>, findings: &mut Findings<'_>) -> Option<String> {
    model_of(table.get_ref().model.as_ref(), table.span(), shared, findings)
}

/// The model of an arm whose table stands at these bytes.
pub(super) fn model_of(
    written: Option<&Spanned<String>>,
    table: std::ops::Range<usize>,
    shared: &Shared<'_>,
    findings: &mut Findings<'_>,
) -> Option<String> {
    match written.or(shared.model) {
        Some(written) if written.get_ref().trim().is_empty() => {
            findings.wrong(written.span(), "the model id is empty: write the id that the endpoint knows");
            None
        }
        Some(written) => Some(written.get_ref().clone()),
        None if shared.upstream.is_none_or(Upstream::is_deterministic) => Some(ORACLE_MODEL.to_owned()),
        None => {
            let message =
                "no model: a real upstream needs one; write `model = \"…\"` here or at the top of the file";
            findings.missing(table, "arm.model", message);
            None
        }
    }
}

fn profile(
    written: Option<&Spanned<ProfileFile>>,
    upstream: Option<&Upstream>,
    findings: &mut Findings<'_>,
) -> Option<Profile> {
    let Some(table) = written else { return Some(Profile::default()) };
    if let Some(upstream) = upstream.filter(|upstream| !upstream.is_deterministic()) {
        let message = format!(
            "only the oracle plays by a profile, and the upstream is `{}`: remove the key, or write kind = \"oracle\"",
            upstream.word()
        );
        findings.wrong(table.span(), message);
        return None;
    }
    let file = table.get_ref();
    let kind = findings.word("oracle profile", &file.kind, &PROFILES);
    let rate = match &file.rate {
        Some(rate) => findings.number(rate, "a probability from 0 to 1", |n| (0.0..=1.0).contains(&n)),
        None => Some(Profile::default().rate),
    };
    Some(Profile { kind: kind?, rate: rate? })
}
