//! What a chat request tells beside its bytes: gathered under the lock as it is let in, since "new" means "in no earlier
//! request of this attempt".

use std::sync::Arc;

use bench_core::Sha256Hex;
use bench_wire::{ModelRequest, RequestTool};

use crate::admission::Read;
use crate::classify::{RequestClass, ToolsSeen};
use crate::exchange::Arrival;
use crate::headers;
use crate::ledger::{
    Body, ChatFacts, Offer, Prefix, Sent, ToolResult, first_request, follows_a_resource, saturating_u32,
    tool_sizes,
};
use crate::shared::{Shared, State};
use crate::trace::TraceEvent;

impl State {
    pub(crate) fn trace_request(
        &mut self,
        shared: &Shared,
        arrival: &Arrival,
        (request, class, rule): (u32, &str, &str),
        (model, body_tokens): (Option<&str>, Option<u64>),
    ) {
        let event = TraceEvent::Request {
            request,
            class,
            rule,
            agent: headers::agent(&arrival.headers),
            method: arrival.method.as_str(),
            path: &arrival.path,
            model,
            body_bytes: arrival.body.len() as u64,
            body_tokens,
        };
        self.trace(shared.now_ms(), &event);
    }

    pub(crate) fn facts(
        &mut self,
        shared: &Shared,
        arrival: &Arrival,
        read: &Read,
        (request, class, body_tokens): (u32, RequestClass, u64),
    ) -> ChatFacts {
        let chat = &read.chat;
        let counter = &shared.spec.counter;
        // The first request is the first with tools; until one comes, the first turn without is kept as well.
        let may_be_first = match (chat.tools.is_empty(), self.tools_seen) {
            (false, ToolsSeen::NotYet) => true,
            (true, ToolsSeen::NotYet) => class == RequestClass::AgentTurn,
            (_, ToolsSeen::Before) => false,
        };
        let body =
            Body { request, bytes: arrival.content.as_ref().unwrap_or(&arrival.body), tokens: body_tokens };
        let first = may_be_first.then(|| first_request(counter, body, chat));
        let new_tools = tool_sizes(counter, chat, |key| self.offered.insert(key));
        if self.tools_seen == ToolsSeen::Before && !new_tools.is_empty() {
            self.trace_loads(shared, request, new_tools.iter().map(|tool| tool.name.clone()));
        }
        if !chat.tools.is_empty() {
            self.tools_seen = ToolsSeen::Before;
        }
        let prefix = match class {
            RequestClass::AgentTurn => {
                let sent = Sent::of(chat);
                let prefix = sent.after(self.sent.as_ref());
                self.sent = Some(sent);
                prefix
            }
            RequestClass::Title
            | RequestClass::Compaction
            | RequestClass::Naming
            | RequestClass::TokenCounting
            | RequestClass::Subagent
            | RequestClass::Human
            | RequestClass::Probe
            | RequestClass::Refused => Prefix::default(),
        };
        ChatFacts {
            prefix,
            model: chat.model.clone(),
            body_tokens,
            offer: self.offer_of(read),
            new_tools,
            first,
            results: self.new_results(shared, request, (headers::agent(&arrival.headers), chat)),
            semantic: read.semantic.clone(),
        }
    }

    /// The offer of this request: the one of the turn before where nothing changed.
    fn offer_of(&mut self, read: &Read) -> Arc<Offer> {
        if let Some(before) = self.offer.as_ref().filter(|offer| offer.sha256 == read.tools_sha256) {
            return Arc::clone(before);
        }
        let offer = Arc::new(Offer {
            names: read.chat.tools.iter().map(RequestTool::full_name).collect(),
            callable: saturating_u32(read.chat.tools.len()),
            sha256: read.tools_sha256.clone(),
        });
        Arc::clone(self.offer.insert(offer))
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
