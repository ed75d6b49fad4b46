//! What a chat request tells beside its bytes: gathered under the lock as it is let in, since "new" means "in no earlier
//! request of this attempt".

use std::sync::Arc;

use bench_core::Sha256Hex;
use bench_core::ledger::FirstRequest;
use bench_wire::{Exposure, ModelRequest, RequestTool};

use crate::admission::Read;
use crate::classify::{RequestClass, ToolsSeen};
use crate::exchange::Arrival;
use crate::ledger::{
    ChatFacts, Offer, Sent, ToolResult, ToolSize, first_request, follows_a_resource, saturating_u32,
    tool_sizes,
};
use crate::shared::{Shared, State};
use crate::trace::TraceEvent;
use crate::weighing::{Load, Weighed};

/// What is known of a request when it is let in.
pub(crate) struct Known {
    model: String,
    offer: Arc<Offer>,
    new_tools: Vec<ToolSize>,
    first: Option<FirstRequest>,
    results: Vec<ToolResult>,
}

impl Known {
    /// With what was counted while it was on its way.
    pub(crate) fn weighed(self, weighed: &Weighed) -> ChatFacts {
        let weight = weighed.weight;
        let first = self.first.map(|first| FirstRequest {
            body_tokens: weight.body_tokens,
            prompt_tokens: weight.prompt_tokens,
            second_body_tokens: weighed.second_body_tokens,
            semantic_sha256: weighed.semantic.clone(),
            ..first
        });
        ChatFacts {
            model: self.model,
            weight,
            offer: self.offer,
            new_tools: self.new_tools,
            first: first.map(Box::new),
            results: self.results,
            semantic: weighed.semantic.clone(),
            prefix: weighed.prefix,
        }
    }
}

impl State {
    pub(crate) fn trace_request(
        &mut self,
        shared: &Shared,
        arrival: &Arrival,
        (request, class, rule): (u32, &str, &str),
        (agent, model): (Option<&str>, Option<&str>),
    ) {
        let event = TraceEvent::Request {
            request,
            class,
            rule,
            agent,
            method: arrival.method.as_str(),
            path: &arrival.path,
            model,
            body_bytes: arrival.body.len() as u64,
        };
        self.trace(shared.now_ms(), &event);
    }

    /// What the requests before make of this one, and what is still to be counted of it.
    pub(crate) fn know(
        &mut self,
        shared: &Shared,
        arrival: &Arrival,
        read: &Read,
        (request, class, agent): (u32, RequestClass, Option<&str>),
    ) -> (Known, Load) {
        let chat = &read.chat;
        let counter = &shared.spec.counter;
        // The first request is the first with tools; until one comes, the first turn without is kept as well.
        let may_be_first = match (chat.tools.is_empty(), self.tools_seen) {
            (false, ToolsSeen::NotYet) => true,
            (true, ToolsSeen::NotYet) => class == RequestClass::AgentTurn && !self.first_turn_seen,
            (_, ToolsSeen::Before) => false,
        };
        self.first_turn_seen |= class == RequestClass::AgentTurn;
        let first = may_be_first.then(|| first_request(counter, request, &read.content, chat));
        let new_tools = tool_sizes(counter, chat, |key| self.offered.insert(key));
        if self.tools_seen == ToolsSeen::Before && !new_tools.is_empty() {
            self.trace_loads(shared, request, new_tools.iter().map(|tool| tool.name.clone()));
        }
        if !chat.tools.is_empty() {
            self.tools_seen = ToolsSeen::Before;
        }
        let sent = (class == RequestClass::AgentTurn).then(|| {
            let sent = Arc::new(Sent::of(Arc::clone(chat)));
            (Arc::clone(&sent), self.sent.replace(sent))
        });
        let known = Known {
            model: chat.model.clone(),
            offer: self.offer_of(shared, request, chat),
            new_tools,
            first,
            results: self.new_results(shared, request, (agent, chat)),
        };
        let (content, body, weight) = (read.content.clone(), arrival.body.clone(), read.weight.clone());
        let twice = known.first.is_some();
        (known, Load { chat: Arc::clone(chat), content, body, weight, twice, sent })
    }

    /// The offer of this request: the one of the request before where nothing changed.
    fn offer_of(&mut self, shared: &Shared, request: u32, chat: &Arc<ModelRequest>) -> Arc<Offer> {
        if let Some((_, offer)) = self.offer.as_ref().filter(|(before, _)| before.entries == chat.entries) {
            return Arc::clone(offer);
        }
        let offer = Arc::new(Offer {
            names: chat.tools.iter().map(RequestTool::full_name).collect(),
            direct: chat.tools.iter().filter(|tool| is_direct(tool)).map(|tool| tool.name.clone()).collect(),
            callable: saturating_u32(chat.tools.len()),
            sha256: Sha256Hex::of(chat.tools_json()),
        });
        self.trace(shared.now_ms(), &TraceEvent::Offer { request, tools: &offer.names });
        self.offer = Some((Arc::clone(chat), Arc::clone(&offer)));
        offer
    }

    fn trace_loads(&mut self, shared: &Shared, request: u32, tools: impl Iterator<Item = String>) {
        let mut by_group: Vec<(Option<&str>, Vec<String>)> = Vec::new();
        for tool in tools.filter(|tool| !follows_a_resource(tool)) {
            let group = shared.spec.groups.get(&tool).map(String::as_str);
            match by_group.iter_mut().find(|(known, _)| *known == group) {
                Some((_, tools)) => tools.push(tool),
                None => by_group.push((group, vec![tool])),
            }
        }
        for (group, tools) in &by_group {
            self.trace(shared.now_ms(), &TraceEvent::Load { request, group: *group, tools });
        }
    }

    /// Tool results that no earlier request of the same agent carried.
    fn new_results(
        &mut self,
        shared: &Shared,
        request: u32,
        (agent, chat): (Option<&str>, &ModelRequest),
    ) -> Vec<ToolResult> {
        let prefixes = &shared.spec.error_prefixes;
        let mut new = Vec::new();
        for result in chat.messages.iter().flat_map(|message| &message.results) {
            let id = &result.id;
            // Ids are an agent's own: two agents of one attempt may give the same.
            if !self.results.insert(format!("{}\n{id}", agent.unwrap_or_default())) {
                continue;
            }
            let calls = chat.messages.iter().flat_map(|message| &message.calls);
            let tool = calls.into_iter().find(|call| call.id == *id).map(|call| call.name.clone());
            let refused = prefixes.iter().any(|prefix| result.text.starts_with(prefix.as_str()));
            let event = TraceEvent::ToolResult {
                request,
                id,
                tool: tool.as_deref(),
                bytes: result.text.len() as u64,
                sha256: Sha256Hex::of(&result.text),
                refused: (!prefixes.is_empty()).then_some(refused),
            };
            self.trace(shared.now_ms(), &event);
            new.push(ToolResult { tool, refused });
        }
        new
    }
}

/// Can it be called by this request alone?
fn is_direct(tool: &RequestTool) -> bool {
    match tool.exposure {
        Exposure::Direct => true,
        Exposure::Deferred | Exposure::Found => false,
    }
}
