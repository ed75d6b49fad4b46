//! Every tool that exists for one conversation, who brought it and how far it is loaded, and the plan that follows from
//! that for one request. A plan is made anew before every request; what it shows keeps its place, so that new tools join
//! the tail and a provider's prefix cache survives.

use std::collections::HashMap;
use std::sync::Arc;

use bench_core::{ModelExposure, Resource, Resources};

use crate::catalogue::{Owner, ToolDefinition};

/// A tool as it is registered.
#[derive(Debug, Clone)]
pub(crate) struct Registration {
    pub(crate) definition: Arc<ToolDefinition>,
    pub(crate) owner: Owner,
    /// Capability group. Every tool of the extension has one.
    pub(crate) group: Option<String>,
    pub(crate) exposure: ModelExposure,
    /// The resource without which it is left out; none = it does not depend on one.
    pub(crate) needs: Option<Resource>,
}

/// How far a deferred tool is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loading {
    /// Nobody asked for it.
    Waiting,
    /// Asked for in this turn; shown from the next request on.
    Asked,
    /// Shown.
    Loaded,
}

/// A name that two owners brought. The first one keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Collision {
    pub(crate) tool: String,
    pub(crate) kept: Owner,
    pub(crate) refused: Owner,
}

/// Why a tool is not registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    /// A tool of our own that could be neither held back nor loaded.
    NoGroup,
    /// The name is taken.
    Taken(Collision),
}

#[derive(Debug, Clone)]
struct Entry {
    registration: Registration,
    loading: Loading,
    /// Its place in the requests since it was last shown.
    place: Option<usize>,
}

/// The tools of one conversation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Registry {
    entries: Vec<Entry>,
    by_name: HashMap<String, usize>,
    next_place: usize,
}

impl Registry {
    /// Adds a tool, unless its name is taken or it is our own without a group.
    pub(crate) fn register(&mut self, registration: Registration) -> Result<(), Refused> {
        if registration.owner == Owner::Extension && registration.group.is_none() {
            return Err(Refused::NoGroup);
        }
        let name = registration.definition.name.clone();
        if let Some(at) = self.by_name.get(&name) {
            let kept = self.entries[*at].registration.owner.clone();
            return Err(Refused::Taken(Collision { tool: name, kept, refused: registration.owner }));
        }
        self.by_name.insert(name, self.entries.len());
        self.entries.push(Entry { registration, loading: Loading::Waiting, place: None });
        Ok(())
    }

    /// The tool of this name with its state.
    pub(crate) fn find(&self, name: &str) -> Option<(&Registration, Loading)> {
        let entry = &self.entries[*self.by_name.get(name)?];
        Some((&entry.registration, entry.loading))
    }

    /// Is it shown in the request that was planned last?
    pub(crate) fn is_shown(&self, name: &str) -> bool {
        self.by_name.get(name).is_some_and(|at| self.entries[*at].place.is_some())
    }

    /// Deferred tools of our own, in order.
    pub(crate) fn deferred(&self) -> impl Iterator<Item = (&Registration, Loading)> {
        let own = |entry: &&Entry| {
            entry.registration.exposure == ModelExposure::Deferred && is_own(&entry.registration.owner)
        };
        self.entries.iter().filter(own).map(|entry| (&entry.registration, entry.loading))
    }

    /// The resource without which a tool is left out.
    pub(crate) fn needs(&self, tool: &str) -> Option<Resource> {
        let named = |entry: &&Entry| entry.registration.definition.name == tool;
        self.entries.iter().find(named).and_then(|entry| entry.registration.needs)
    }

    /// Asks for the deferred tools that `wanted` selects. What belongs to others is never touched.
    pub(crate) fn ask_for(&mut self, wanted: impl Fn(&Registration) -> bool) -> Vec<Arc<ToolDefinition>> {
        let mut asked = Vec::new();
        for entry in &mut self.entries {
            let registration = &entry.registration;
            let deferred = registration.exposure == ModelExposure::Deferred && is_own(&registration.owner);
            if deferred && entry.loading == Loading::Waiting && wanted(registration) {
                entry.loading = Loading::Asked;
                asked.push(Arc::clone(&registration.definition));
            }
        }
        asked
    }

    /// A turn is over: what it asked for is shown from now on.
    pub(crate) fn next_turn(&mut self) {
        for entry in self.entries.iter_mut().filter(|entry| entry.loading == Loading::Asked) {
            entry.loading = Loading::Loaded;
        }
    }

    /// The tools of the next request, in order.
    pub(crate) fn plan(&mut self, resources: &Resources) -> Vec<Arc<ToolDefinition>> {
        for entry in &mut self.entries {
            let registration = &entry.registration;
            let exposed = match registration.exposure {
                ModelExposure::Direct => true,
                ModelExposure::Deferred => entry.loading == Loading::Loaded,
                ModelExposure::Hidden => false,
            };
            let shown = exposed && registration.needs.is_none_or(|needed| resources.has(needed));
            match (shown, entry.place) {
                (true, None) => {
                    entry.place = Some(self.next_place);
                    self.next_place += 1;
                }
                (false, Some(_)) => entry.place = None,
                (true, Some(_)) | (false, None) => {}
            }
        }
        let mut shown: Vec<(usize, &Entry)> =
            self.entries.iter().filter_map(|entry| Some((entry.place?, entry))).collect();
        shown.sort_unstable_by_key(|(place, _)| *place);
        shown.into_iter().map(|(_, entry)| Arc::clone(&entry.registration.definition)).collect()
    }
}

/// For the benchmark: a registry that holds so many foreign tools beside `read`; each call plans one request and answers
/// how many tools it shows.
#[doc(hidden)]
pub fn planner(foreign: usize) -> impl FnMut() -> usize {
    let mut registry = Registry::default();
    let read = crate::catalogue::tool("read").expect("the catalogue holds it");
    let registration = |definition, owner| Registration {
        definition: Arc::new(definition),
        owner,
        group: None,
        exposure: ModelExposure::Direct,
        needs: None,
    };
    let mut add = |definition, owner| {
        if registry.register(registration(definition, owner)).is_err() {
            unreachable!("every name is given once");
        }
    };
    add(read.clone(), Owner::Agent);
    for number in 0..foreign {
        let name = format!("tool_{number}");
        add(ToolDefinition { name, ..read.clone() }, Owner::Foreign("server".to_owned()));
    }
    move || registry.plan(&Resources::default()).len()
}

fn is_own(owner: &Owner) -> bool {
    match owner {
        Owner::Agent | Owner::Extension => true,
        Owner::Foreign(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::tool;

    fn registration(name: &str, owner: Owner, exposure: ModelExposure) -> Registration {
        let definition = Arc::new(tool(name).unwrap());
        Registration { definition, owner, group: Some("search".into()), exposure, needs: None }
    }

    fn names(registry: &mut Registry, resources: &Resources) -> String {
        let plan = registry.plan(resources);
        plan.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn an_own_tool_without_a_group_and_a_taken_name_are_refused() {
        let mut registry = Registry::default();
        let mut homeless = registration("fd", Owner::Extension, ModelExposure::Direct);
        homeless.group = None;
        assert_eq!(registry.register(homeless), Err(Refused::NoGroup));
        registry.register(registration("fd", Owner::Extension, ModelExposure::Direct)).unwrap();
        let server = Owner::Foreign("server".into());
        let Err(Refused::Taken(collision)) =
            registry.register(registration("fd", server.clone(), ModelExposure::Direct))
        else {
            panic!("the name is taken")
        };
        assert_eq!((collision.kept, collision.refused), (Owner::Extension, server));
    }

    #[test]
    fn foreign_tools_are_never_loaded_or_hidden() {
        let mut registry = Registry::default();
        let server = || Owner::Foreign("server".into());
        registry.register(registration("read", Owner::Agent, ModelExposure::Direct)).unwrap();
        registry.register(registration("rg", server(), ModelExposure::Deferred)).unwrap();
        registry.register(registration("grep", server(), ModelExposure::Direct)).unwrap();
        registry.register(registration("fd", Owner::Extension, ModelExposure::Deferred)).unwrap();
        let asked = registry.ask_for(|_| true);
        assert_eq!(asked.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["fd"]);
        assert_eq!(names(&mut registry, &Resources::default()), "read grep");
        registry.next_turn();
        assert_eq!(names(&mut registry, &Resources::default()), "read grep fd");
        assert_eq!(registry.find("rg").unwrap().1, Loading::Waiting);
    }

    #[test]
    fn tools_come_and_go_with_what_they_work_on_and_join_the_tail() {
        let mut registry = Registry::default();
        let mut rewind = registration("rewind", Owner::Extension, ModelExposure::Direct);
        rewind.needs = Some(Resource::Checkpoint);
        registry.register(registration("read", Owner::Agent, ModelExposure::Direct)).unwrap();
        registry.register(rewind).unwrap();
        registry.register(registration("fd", Owner::Extension, ModelExposure::Direct)).unwrap();
        let marked = Resources::from_iter([Resource::Checkpoint]);
        assert_eq!(names(&mut registry, &Resources::default()), "read fd");
        assert_eq!(names(&mut registry, &marked), "read fd rewind");
        assert_eq!(names(&mut registry, &Resources::default()), "read fd");
    }
}
