//! Is a surface one that this agent can show? Asked by the harness before a run and by the agent when it starts.

use bench_core::{CodeExposure, CodeMode, Discovery, ModelExposure, Surface};
use grep_regex::RegexMatcherBuilder;

use crate::catalogue::{CALL, GATEWAY, SEARCH, group_names, is_brought, tool, tool_names};
use crate::servers;

/// What is wrong with a surface.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SurfaceError {
    /// A tool that the catalogue does not have.
    #[error("surface {surface:?} lists the tool {tool:?}, which does not exist; the tools are {known}")]
    UnknownTool {
        /// The surface.
        surface: String,
        /// The tool.
        tool: String,
        /// What exists.
        known: String,
    },
    /// A tool that is listed twice.
    #[error("surface {surface:?} lists the tool {tool:?} twice; keep one of the two")]
    Twice {
        /// The surface.
        surface: String,
        /// The tool.
        tool: String,
    },
    /// A tool of discovery as a listed tool.
    #[error(
        "surface {surface:?} lists the tool {tool:?}; it comes by itself with its way of discovery or with [code]"
    )]
    DiscoveryListed {
        /// The surface.
        surface: String,
        /// The tool.
        tool: String,
    },
    /// A tool of the extension that belongs nowhere.
    #[error(
        "surface {surface:?} lists the tool {tool:?}, which is ours and has no group; give it one in the catalogue"
    )]
    Homeless {
        /// The surface.
        surface: String,
        /// The tool.
        tool: String,
    },
    /// A rule on the instruction that cannot be asked or loads nothing.
    #[error("surface {surface:?} preloads {group:?} by {pattern:?}: {fault}")]
    Preload {
        /// The surface.
        surface: String,
        /// The group.
        group: String,
        /// The rule's pattern.
        pattern: String,
        /// What is wrong.
        fault: String,
    },
    /// Devices without the two tools that reach them.
    #[error(
        "surface {surface:?} mounts tools on paths and does not show both `read` and `write`, which reach them"
    )]
    NoReach {
        /// The surface.
        surface: String,
    },
    /// A number that makes no sense.
    #[error("surface {surface:?} has {key} = {value}; {remedy}")]
    Number {
        /// The surface.
        surface: String,
        /// The key.
        key: &'static str,
        /// Its value.
        value: usize,
        /// What it must be.
        remedy: &'static str,
    },
    /// A deferred tool that nothing can load.
    #[error(
        "surface {surface:?} defers the tool {tool:?} and has discovery = \"none\": nothing could ever load it; set another discovery or hide it"
    )]
    NoDiscovery {
        /// The surface.
        surface: String,
        /// The tool.
        tool: String,
    },
    /// A deferred tool that belongs to no group.
    #[error("surface {surface:?} defers the tool {tool:?} without a group; add group = \"…\" ({known})")]
    NoGroup {
        /// The surface.
        surface: String,
        /// The tool.
        tool: String,
        /// The groups that exist.
        known: String,
    },
    /// A group that the catalogue does not describe.
    #[error(
        "surface {surface:?} puts the tool {tool:?} into the group {group:?}, which does not exist; the groups are {known}"
    )]
    UnknownGroup {
        /// The surface.
        surface: String,
        /// The tool.
        tool: String,
        /// The group.
        group: String,
        /// The groups that exist.
        known: String,
    },
    /// A gateway with nothing behind it.
    #[error(
        "surface {surface:?} has discovery = \"{discovery}\" and no deferred tool; defer one or set discovery = \"none\""
    )]
    NothingToLoad {
        /// The surface.
        surface: String,
        /// Its way of discovery.
        discovery: &'static str,
    },
    /// Something about code mode that makes no sense.
    #[error("surface {surface:?}: {fault}")]
    Code {
        /// The surface.
        surface: String,
        /// What is wrong, with the remedy.
        fault: String,
    },
    /// Guidance about a tool that the model is not shown.
    #[error(
        "guidance of surface {surface:?} names the tool {tool:?}, which it does not show at once: {line:?}"
    )]
    GuidanceNamesAbsentTool {
        /// The surface.
        surface: String,
        /// The tool.
        tool: String,
        /// The line.
        line: String,
    },
}

/// Checks that the reference agent can show this surface. Names the first thing that is wrong and what to do about it.
pub fn check_surface(surface: &Surface) -> Result<(), SurfaceError> {
    let name = || surface.name.to_string();
    for (index, entry) in surface.tools.iter().enumerate() {
        check_tool(surface, index)?;
        if entry.model == ModelExposure::Deferred {
            check_deferred(surface, index)?;
        }
    }
    if surface.discovery != Discovery::None && surface.groups().is_empty() {
        return Err(SurfaceError::NothingToLoad { surface: name(), discovery: surface.discovery.word() });
    }
    check_preload(surface)?;
    check_code(surface)?;
    check_numbers(surface)?;
    let shows = |tool: &str| surface.tools.iter().any(|t| t.name == tool && t.model == ModelExposure::Direct);
    if surface.discovery == Discovery::Devices && !(shows("read") && shows("write")) {
        return Err(SurfaceError::NoReach { surface: name() });
    }
    for line in &surface.guidance {
        if let Some(tool) = absent_tool_named(surface, line) {
            return Err(SurfaceError::GuidanceNamesAbsentTool {
                surface: name(),
                tool: tool.to_owned(),
                line: line.clone(),
            });
        }
    }
    Ok(())
}

fn check_preload(surface: &Surface) -> Result<(), SurfaceError> {
    for rule in &surface.preload {
        let fault = if let Err(error) = RegexMatcherBuilder::new().build(&rule.instruction) {
            format!("it is not a regular expression: {error}")
        } else if !surface.groups().contains(&rule.group.as_str()) {
            format!("no deferred tool is in this group; the groups are {}", surface.groups().join(", "))
        } else {
            continue;
        };
        return Err(SurfaceError::Preload {
            surface: surface.name.to_string(),
            group: rule.group.clone(),
            pattern: rule.instruction.clone(),
            fault,
        });
    }
    Ok(())
}

/// The note that takes the place of what is cut out must fit, and a summary must have something to sum up.
fn check_numbers(surface: &Surface) -> Result<(), SurfaceError> {
    let refused = |key, value, remedy| {
        Err(SurfaceError::Number { surface: surface.name.to_string(), key, value, remedy })
    };
    if let Some(budget) = &surface.budget {
        if budget.bytes < 512 {
            return refused("budget.bytes", budget.bytes, "it must be at least 512");
        }
        if budget.tokens < 128 {
            return refused("budget.tokens", budget.tokens, "it must be at least 128");
        }
        if budget.head_percent > 100 {
            return refused("budget.head-percent", budget.head_percent.into(), "it must be at most 100");
        }
    }
    match &surface.compaction {
        Some(rule) if !(1..=100).contains(&rule.at_percent) => {
            refused("compaction.at-percent", rule.at_percent.into(), "it must be from 1 to 100")
        }
        Some(_) | None => Ok(()),
    }
}

fn check_tool(surface: &Surface, index: usize) -> Result<(), SurfaceError> {
    let entry = &surface.tools[index];
    let (surface_name, tool_name) = (surface.name.to_string(), entry.name.clone());
    if is_brought(&entry.name) {
        return Err(SurfaceError::DiscoveryListed { surface: surface_name, tool: tool_name });
    }
    if tool(&entry.name).is_none() {
        let known = tool_names().join(", ");
        return Err(SurfaceError::UnknownTool { surface: surface_name, tool: tool_name, known });
    }
    if surface.tools[..index].iter().any(|earlier| earlier.name == entry.name) {
        return Err(SurfaceError::Twice { surface: surface_name, tool: tool_name });
    }
    Ok(())
}

fn check_code(surface: &Surface) -> Result<(), SurfaceError> {
    let fault = |fault: String| Err(SurfaceError::Code { surface: surface.name.to_string(), fault });
    if let Some(server) = surface.servers.iter().find(|server| servers::tools(&server.name).is_none()) {
        return fault(format!(
            "there is no server {:?}; the servers are {}",
            server.name,
            servers::names().join(", ")
        ));
    }
    let tools = || surface.tools.iter().filter(|tool| tool.code == CodeExposure::Bridged);
    let bridged = tools().next().map(|tool| tool.name.as_str());
    let bridged_server = surface.servers.iter().find(|server| server.code == CodeExposure::Bridged);
    let bridged = bridged.or(bridged_server.map(|server| server.name.as_str()));
    match (&surface.code, bridged) {
        (None, Some(name)) => {
            fault(format!("bridges {name:?} to code, and nothing runs code; add [code] or set code = \"no\""))
        }
        (Some(code), None) => fault(format!(
            "has [code] of the shape {:?} and bridges no tool; set code = \"bridged\"",
            code.shape.word()
        )),
        (Some(code), Some(_)) => {
            let unknown =
                code.direct_tools.iter().find(|name| !surface.tools.iter().any(|tool| tool.name == **name));
            match unknown {
                Some(name) => {
                    fault(format!("code.direct-tools names {name:?}, which is not in its list of tools"))
                }
                None => check_limits(surface, code),
            }
        }
        (None, None) => Ok(()),
    }
}

fn check_limits(surface: &Surface, code: &CodeMode) -> Result<(), SurfaceError> {
    let limits = &code.limits;
    let table = [
        ("code.limits.time-ms", limits.time_ms as usize, 1, "it must be at least 1"),
        ("code.limits.memory-bytes", limits.memory_bytes, 4 << 20, "an engine needs at least 4194304"),
        ("code.limits.calls", limits.calls, 1, "it must be at least 1"),
        ("code.limits.value-bytes", limits.value_bytes, 512, "it must be at least 512"),
        ("code.limits.nested-bytes", limits.nested_bytes, 512, "it must be at least 512"),
    ];
    match table.into_iter().find(|(_, value, least, _)| value < least) {
        Some((key, value, _, remedy)) => {
            Err(SurfaceError::Number { surface: surface.name.to_string(), key, value, remedy })
        }
        None => Ok(()),
    }
}

fn check_deferred(surface: &Surface, index: usize) -> Result<(), SurfaceError> {
    let entry = &surface.tools[index];
    let (surface_name, tool_name) = (surface.name.to_string(), entry.name.clone());
    if surface.discovery == Discovery::None {
        return Err(SurfaceError::NoDiscovery { surface: surface_name, tool: tool_name });
    }
    let known = group_names();
    match &entry.group {
        None => {
            Err(SurfaceError::NoGroup { surface: surface_name, tool: tool_name, known: known.join(", ") })
        }
        Some(group) if !known.contains(group) => Err(SurfaceError::UnknownGroup {
            surface: surface_name,
            tool: tool_name,
            group: group.clone(),
            known: known.join(", "),
        }),
        Some(_) => Ok(()),
    }
}

/// A tool that the line names and the surface does not show. Several names are plain English words, so a name counts in
/// backticks, or bare when it holds an underscore or has no vowel to be read by and is no program of the shell.
fn absent_tool_named<'a>(surface: &Surface, line: &'a str) -> Option<&'a str> {
    let shown = |name: &str| {
        let brought: &[&str] = match surface.discovery {
            Discovery::None | Discovery::Intent | Discovery::Devices => &[],
            // Which of the two ways it will be is decided by flags, so guidance cannot name either tool.
            Discovery::Native => &[],
            Discovery::Gateway => &[GATEWAY],
            Discovery::SearchAppend => &[SEARCH],
            Discovery::SearchResult => &[SEARCH, CALL],
        };
        brought.contains(&name)
            || surface.code.as_ref().is_some_and(|code| code.shape.tools().contains(&name))
            || surface.tools.iter().any(|tool| tool.name == name && tool.model == ModelExposure::Direct)
    };
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let quoted = line.split('`').skip(1).step_by(2);
    let plain = line
        .split(|c| !is_word(c))
        .filter(|word| *word != "ls")
        .filter(|word| word.contains('_') || !word.contains(['a', 'e', 'i', 'o', 'u']));
    quoted.chain(plain).find(|name| tool(name).is_some() && !shown(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offer::tests::{deferred, direct, surface};

    #[test]
    fn a_sound_surface_is_accepted() {
        assert_eq!(check_surface(&surface(vec![direct("read"), direct("bash")])), Ok(()));
        let mut gateway = surface(vec![direct("read"), deferred("fd", "search")]);
        gateway.discovery = Discovery::Gateway;
        gateway.guidance = vec!["Ask `capabilities` first.".into(), "A workflow is read as a whole.".into()];
        assert_eq!(check_surface(&gateway), Ok(()));
    }

    #[test]
    fn each_fault_is_named() {
        let message = |change: &dyn Fn(&mut Surface)| {
            let mut broken = surface(vec![direct("read"), deferred("fd", "search")]);
            broken.discovery = Discovery::Gateway;
            change(&mut broken);
            check_surface(&broken).unwrap_err().to_string()
        };
        assert!(message(&|s| s.tools[0].name = "raed".into()).contains("\"raed\", which does not exist"));
        assert!(message(&|s| s.tools[1] = direct("read")).contains("twice"));
        assert!(message(&|s| s.tools[0].name = "capabilities".into()).contains("comes by itself"));
        assert!(message(&|s| s.discovery = Discovery::None).contains("nothing could ever load it"));
        assert!(message(&|s| s.tools[1].group = None).contains("without a group"));
        assert!(
            message(&|s| s.tools[1].group = Some("seach".into())).contains("\"seach\", which does not exist")
        );
        assert!(message(&|s| s.tools.truncate(1)).contains("no deferred tool"));
        assert!(message(&|s| s.tools[0].code = CodeExposure::Bridged).contains("runs code"));
        for line in ["Use `edit`.", "Prefer fd to ls.", "See bg_start."] {
            assert!(message(&|s| s.guidance = vec![line.into()]).contains("does not show at once"), "{line}");
        }
    }
}
