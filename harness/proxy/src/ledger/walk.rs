//! One pass over the exchanges of an attempt: turns, tools, loads.

use bench_core::ledger::{ContextShare, Load, ToolEntry, TurnEntry};
use bench_core::{Sha256Hex, SharedText};

use super::compile::{LedgerContext, billed};
use super::measure::saturating_u32;
use super::{Answer, ChatFacts, Exchange, Prefix, ToolSize};
use crate::classify::RequestClass;
use crate::upstream::UsageSource;

/// Whose numbers the tokens are: one for the whole attempt, since a sum of two kinds is no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Basis {
    Provider,
    Rendered,
    Json,
}

impl Basis {
    pub(super) fn of(exchanges: &[Exchange], source: UsageSource) -> Self {
        if billed(exchanges).next().is_none() {
            return Self::Json;
        }
        let said = |answer: &Answer| answer.turn.as_ref().and_then(|turn| turn.usage);
        let all_said = billed(exchanges).all(|(_, _, answer)| {
            said(answer).is_some_and(|usage| usage.input_tokens.is_some() && usage.output_tokens.is_some())
        });
        let all_rendered = billed(exchanges).all(|(_, chat, _)| chat.weight.prompt_tokens.is_some());
        match source {
            UsageSource::Provider if all_said => Self::Provider,
            UsageSource::Provider | UsageSource::LocalCount if all_rendered => Self::Rendered,
            UsageSource::Provider | UsageSource::LocalCount => Self::Json,
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Provider => "provider",
            Self::Rendered => "rendered",
            Self::Json => "json",
        }
    }

    /// Input and output tokens of a billed exchange.
    pub(super) fn tokens(self, chat: &ChatFacts, answer: &Answer) -> (u64, u64) {
        let usage = answer.turn.as_ref().and_then(|turn| turn.usage).unwrap_or_default();
        match (self, usage.input_tokens, usage.output_tokens) {
            (Self::Provider, Some(input), Some(output)) => (input, output),
            (Self::Rendered, _, _) => (chat.weight.input_tokens(), answer.output_tokens),
            (Self::Provider | Self::Json, _, _) => (chat.weight.body_tokens, answer.output_tokens),
        }
    }
}

/// Goes through the exchanges in order and keeps what depends on what came before.
pub(super) struct Walk<'a> {
    pub(super) basis: Basis,
    pub(super) context: &'a LedgerContext<'a>,
    pub(super) tools: Vec<ToolEntry>,
    pub(super) turns: Vec<TurnEntry>,
    pub(super) loads: Vec<Load>,
    pub(super) surface_changes: u64,
    pub(super) errors: u64,
    pub(super) surface: Option<Sha256Hex>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(basis: Basis, context: &'a LedgerContext<'a>) -> Self {
        let (tools, turns, loads) = (Vec::new(), Vec::new(), Vec::new());
        Self { basis, context, tools, turns, loads, surface_changes: 0, errors: 0, surface: None }
    }

    pub(super) fn exchange(&mut self, exchange: &Exchange) {
        let Some(chat) = &exchange.chat else { return };
        for result in chat.results.iter().filter(|result| result.refused) {
            self.errors += 1;
            let tool = self
                .tools
                .iter_mut()
                .find(|tool| result.tool.as_ref().is_some_and(|name| answers_to(tool, name)));
            if let Some(errors) = tool.and_then(|tool| tool.errors.as_mut()) {
                *errors += 1;
            }
        }
        if exchange.class != RequestClass::AgentTurn {
            return;
        }
        self.offers(chat);
        if let Some(answer) = exchange.answer.as_ref().filter(|answer| answer.is_billed()) {
            self.turn(exchange, chat, answer);
        }
    }

    fn offers(&mut self, chat: &ChatFacts) {
        let turn = saturating_u32(self.turns.len() + 1);
        if let Some(before) = self.surface.replace(chat.offer.sha256.clone()) {
            self.surface_changes += u64::from(before != chat.offer.sha256);
            self.load(&chat.new_tools, turn);
        }
        let errors = self.context.knows_errors.then_some(0);
        self.tools.extend(chat.new_tools.iter().map(|tool| entry(tool, turn, errors)));
    }

    /// Tools that appear after the first request: one load per group, one for all without a group.
    fn load(&mut self, new_tools: &[ToolSize], turn: u32) {
        let start = self.loads.len();
        for tool in new_tools.iter().filter(|tool| !follows_a_resource(&tool.name)) {
            let group = self.context.groups.get(&tool.name).map(SharedText::from);
            match self.loads[start..].iter_mut().find(|load| load.group == group) {
                Some(load) => load.tools.push(tool.name.as_str().into()),
                None => self.loads.push(Load {
                    group,
                    tools: vec![tool.name.as_str().into()],
                    turn,
                    first_call_turn: None,
                    needed: false,
                }),
            }
        }
    }

    fn turn(&mut self, exchange: &Exchange, chat: &ChatFacts, answer: &Answer) {
        let turn = saturating_u32(self.turns.len() + 1);
        let said = answer.turn.as_ref();
        let calls: Vec<String> = said.map(|said| said.calls.clone()).unwrap_or_default();
        for name in &calls {
            if let Some(tool) = self.tools.iter_mut().find(|tool| answers_to(tool, name)) {
                tool.calls += 1;
                tool.first_called_turn.get_or_insert(turn);
            }
        }
        for tool in &mut self.tools {
            // What is only told of stays in the conversation that told of it.
            let carried = tool.kind == "listed" || chat.offer.names.iter().any(|name| answers_to(tool, name));
            tool.offered_turns = tool.offered_turns.map(|turns| turns + u32::from(carried));
        }
        let (input_tokens, output_tokens) = self.basis.tokens(chat, answer);
        self.turns.push(TurnEntry {
            turn,
            request: exchange.request,
            input_tokens,
            cached_input_tokens: said.and_then(|t| t.usage).and_then(|usage| usage.cached_input_tokens),
            output_tokens,
            tools_callable: chat.offer.callable,
            surface_sha256: chat.offer.sha256.clone(),
            calls: calls.into_iter().map(Into::into).collect(),
            wait_ms: exchange.waited.map_or(0.0, |(from, to)| crate::trace::rounded(to - from)),
            context: Some(context_of(&chat.prefix)),
        });
    }

    pub(super) fn mark_first_calls(&mut self) {
        for load in &mut self.loads {
            let first_calls = self.tools.iter().filter(|tool| load.tools.contains(&tool.name));
            load.first_call_turn = first_calls.filter_map(|tool| tool.first_called_turn).min();
            load.needed = load.first_call_turn.is_some();
        }
    }
}

/// Does a tool come by itself, with what it works on? Nobody loaded it then.
pub(crate) fn follows_a_resource(tool: &str) -> bool {
    bench_core::Resource::needed_by(tool).is_some()
}

fn context_of(prefix: &Prefix) -> ContextShare {
    let [tools_bytes, system_bytes, messages_bytes] = prefix.parts;
    ContextShare {
        tools_bytes,
        system_bytes,
        messages_bytes,
        shared_prefix_bytes: prefix.shared,
        prefix_broken_in: prefix.broken.map(|part| part.word().to_owned()),
    }
}

/// Is this entry's tool called by this name?
fn answers_to(tool: &ToolEntry, name: &str) -> bool {
    let inner = tool.namespace.as_deref().and_then(|namespace| name.strip_prefix(namespace));
    let inner = inner.and_then(|rest| rest.strip_prefix('.').or_else(|| rest.strip_prefix("__")));
    tool.name == name || inner == Some(tool.name.as_str())
}

fn entry(tool: &ToolSize, turn: u32, errors: Option<u32>) -> ToolEntry {
    ToolEntry {
        name: tool.name.as_str().into(),
        namespace: tool.namespace.as_deref().map(Into::into),
        kind: tool.kind.as_str().into(),
        exposure: tool.exposure.as_str().into(),
        r#where: tool.place.as_str().into(),
        description_bytes: tool.description.bytes,
        description_tokens: tool.description.tokens,
        schema_bytes: tool.schema.bytes,
        schema_tokens: tool.schema.tokens,
        bytes: tool.whole.bytes,
        tokens: tool.whole.tokens,
        calls: 0,
        errors,
        first_offered_turn: turn,
        first_called_turn: None,
        offered_turns: Some(0),
    }
}
