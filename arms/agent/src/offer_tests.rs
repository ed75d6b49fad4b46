//! Offers without a conversation around them.

use bench_core::{CodeExposure, SurfaceId, SurfaceTool};

use super::*;

/// An offer on chat completions, with a model that can do nothing beyond plain calls.
pub(crate) fn offer(surface: &Surface) -> Offer {
    Offer::of(surface, &Capabilities::default(), WireKind::OpenaiChat).unwrap()
}

fn declared(offer: &mut Offer) -> Vec<Value> {
    offer.plan(&Resources::default());
    offer.tools().iter().map(|tool| tool.in_chat()).collect()
}

pub(crate) fn surface(tools: Vec<SurfaceTool>) -> Surface {
    Surface {
        name: SurfaceId::new("tried").unwrap(),
        version: 1,
        extension: false,
        tools,
        discovery: Discovery::None,
        guidance: Vec::new(),
        prompt: Prompt::Full,
        preload: Vec::new(),
        lifecycle: bench_core::Lifecycle::Ignored,
        budget: None,
        compaction: None,
        scheduling: bench_core::Scheduling::Serial,
        code: None,
        servers: Vec::new(),
    }
}

pub(crate) fn direct(name: &str) -> SurfaceTool {
    SurfaceTool { name: name.into(), model: ModelExposure::Direct, code: CodeExposure::No, group: None }
}

pub(crate) fn deferred(name: &str, group: &str) -> SurfaceTool {
    let group = Some(group.to_owned());
    SurfaceTool { name: name.into(), model: ModelExposure::Deferred, code: CodeExposure::No, group }
}

fn gateway() -> Offer {
    let mut surface = surface(vec![
        direct("read"),
        deferred("fd", "search"),
        deferred("tasks_add", "session"),
        deferred("rg", "search"),
    ]);
    surface.discovery = Discovery::Gateway;
    offer(&surface)
}

#[test]
fn a_load_changes_only_the_tail_of_the_tools_and_only_from_the_next_turn_on() {
    let mut offer = gateway();
    let (before, system) = (declared(&mut offer), offer.system_text("/w"));
    assert_eq!(
        before[1]["function"]["parameters"]["properties"]["groups"]["items"]["enum"],
        json!(["search", "session"])
    );
    assert!(offer.callable("rg").unwrap_err().contains("load the group search"));
    assert!(offer.load(&["search".into()]).text.contains("search: loaded fd ("));
    assert_eq!(declared(&mut offer), before);
    assert!(offer.callable("rg").unwrap_err().contains("next turn"));
    offer.next_turn();
    let after = declared(&mut offer);
    assert_eq!(after[..before.len()], before[..]);
    let added: Vec<_> = after[before.len()..].iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(added, ["fd", "rg"]);
    assert!(offer.callable("rg").is_ok());
    assert_eq!(offer.system_text("/w"), system);
    assert!(offer.load(&["search".into()]).text.starts_with("search was loaded before"));
    offer.next_turn();
    assert_eq!(declared(&mut offer), after);
}

#[test]
fn the_list_names_every_group_with_its_tools() {
    let mut offer = gateway();
    assert_eq!(
        offer.list_groups(),
        "search: find files by name, search their text (fd, rg)\nsession: task list and goals (tasks_add)"
    );
    offer.load(&["session".into()]);
    assert!(offer.list_groups().ends_with("(tasks_add), loaded"));
}

#[test]
fn the_instructions_speak_of_shown_tools_alone() {
    let text = offer(&surface(vec![direct("bash")])).system_text("/some/where");
    assert!(text.contains("- bash: "));
    assert!(!text.contains("- read: ") && !text.contains("oldText"));
    assert_eq!(text.matches("/some/where").count(), 1);
    assert!(!text.contains(['{', '}']));
}
