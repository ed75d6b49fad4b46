//! From facts to a ledger: pure, so that every sum can be tested without a socket.

use std::collections::{BTreeMap, BTreeSet};

use bench_core::Sha256Hex;
use bench_core::ledger::{
    AgentTotals, FirstRequest, Load, TokenBasis, TokenizerIdentity, ToolEntry, TurnEntry, Usage,
};
use bench_core::lifecycle::ShownTurn;
use bench_record::RequestClassTotals;

use super::walk::{Basis, Walk};
use super::{Answer, ChatFacts, Exchange};
use crate::classify::{RequestClass, TOOLS_CAME_LATER};
use crate::recording::Totals;
use crate::upstream::UsageSource;

/// What the facts alone do not tell.
pub(crate) struct LedgerContext<'a> {
    pub(crate) usage_source: UsageSource,
    pub(crate) tokenizer: TokenizerIdentity,
    /// Capability group of each tool that is loaded.
    pub(crate) groups: &'a BTreeMap<String, String>,
    /// Is it known how this agent's tools say that a call was refused?
    pub(crate) knows_errors: bool,
}

/// What the facts add up to.
pub(crate) struct Ledger {
    pub(crate) agents: Vec<AgentTotals>,
    pub(crate) critical_path_ms: Option<f64>,
    pub(crate) first_request: Option<FirstRequest>,
    pub(crate) tools: Vec<ToolEntry>,
    pub(crate) turns: Vec<TurnEntry>,
    pub(crate) requests_by_class: BTreeMap<String, RequestClassTotals>,
    pub(crate) loads: Vec<Load>,
    pub(crate) tokens: TokenBasis,
    pub(crate) provider_usage: Option<Usage>,
    pub(crate) totals: Totals,
    pub(crate) upstream_wait_ms: f64,
    pub(crate) transcript_sha256: Sha256Hex,
}

/// Requests whose class only the end of the attempt shows: without tools before any carried some. Changes the
/// exchanges and returns what the index must write anew.
pub(crate) fn late_classes(exchanges: &mut [Exchange]) -> Vec<(u32, String, String)> {
    let offers = |e: &Exchange| e.chat.as_ref().is_some_and(|chat| !chat.offer.names.is_empty());
    let Some(first) = exchanges.iter().filter(|e| offers(e)).map(|e| e.request).min() else {
        return Vec::new();
    };
    let mut changed = Vec::new();
    for exchange in exchanges.iter_mut() {
        if exchange.request < first && exchange.class == RequestClass::AgentTurn {
            exchange.class = RequestClass::Title;
            changed.push((exchange.request, exchange.class.word().to_owned(), TOOLS_CAME_LATER.to_owned()));
        }
    }
    changed
}

/// Adds up. `exchanges` stand in order of request.
pub(crate) fn compile(exchanges: &[Exchange], context: &LedgerContext<'_>) -> Ledger {
    let basis = Basis::of(exchanges, context.usage_source);
    let mut walk = Walk::new(basis, context);
    exchanges.iter().for_each(|exchange| walk.exchange(exchange));
    walk.mark_first_calls();
    let provider_usage = match context.usage_source {
        UsageSource::Provider => provider_usage(exchanges),
        UsageSource::LocalCount => None,
    };
    let totals = totals(exchanges, &walk, provider_usage.as_ref());
    Ledger {
        agents: agents(exchanges, walk.basis),
        critical_path_ms: critical_path_ms(exchanges),
        first_request: first_request(exchanges),
        requests_by_class: by_class(exchanges, basis),
        tokens: TokenBasis {
            basis: basis.word().into(),
            completeness: completeness(exchanges).into(),
            tokenizer: context.tokenizer.clone(),
        },
        provider_usage,
        totals,
        upstream_wait_ms: union_ms(exchanges),
        transcript_sha256: transcript(exchanges),
        tools: walk.tools,
        turns: walk.turns,
        loads: walk.loads,
    }
}

/// Exchanges that cost something.
pub(super) fn billed(exchanges: &[Exchange]) -> impl Iterator<Item = (&Exchange, &ChatFacts, &Answer)> {
    exchanges.iter().filter_map(|exchange| match (&exchange.chat, &exchange.answer) {
        (Some(chat), Some(answer)) if answer.is_billed() => Some((exchange, chat, answer)),
        _ => None,
    })
}

/// The first that carries tools; without any, the first agent turn.
fn first_request(exchanges: &[Exchange]) -> Option<FirstRequest> {
    let turns = || exchanges.iter().filter(|exchange| exchange.class == RequestClass::AgentTurn);
    let with_tools = turns().find(|e| e.chat.as_ref().is_some_and(|chat| !chat.offer.names.is_empty()));
    with_tools
        .or_else(|| turns().next())
        .and_then(|exchange| exchange.chat.as_ref()?.first.as_deref().cloned())
}

fn by_class(exchanges: &[Exchange], basis: Basis) -> BTreeMap<String, RequestClassTotals> {
    let mut classes: BTreeMap<String, RequestClassTotals> = BTreeMap::new();
    for exchange in exchanges {
        let class = classes.entry(exchange.class.word().to_owned()).or_insert(RequestClassTotals {
            requests: 0,
            input_tokens: 0,
            output_tokens: 0,
        });
        class.requests += 1;
        if let (Some(chat), Some(answer)) = (&exchange.chat, &exchange.answer)
            && answer.is_billed()
        {
            let (input, output) = basis.tokens(chat, answer);
            class.input_tokens += input;
            class.output_tokens += output;
        }
    }
    classes
}

/// What each second agent asked for, in order of their first requests.
fn agents(exchanges: &[Exchange], basis: Basis) -> Vec<AgentTotals> {
    let mut agents: Vec<AgentTotals> = Vec::new();
    for exchange in exchanges {
        let Some(name) = &exchange.agent else { continue };
        let known = agents.iter().position(|agent| &agent.name == name);
        let at = known.unwrap_or_else(|| {
            agents.push(AgentTotals { name: name.clone(), ..AgentTotals::default() });
            agents.len() - 1
        });
        let agent = &mut agents[at];
        agent.requests += 1;
        if let Some((from, to)) = exchange.waited {
            agent.first_ms.get_or_insert(crate::trace::rounded(from));
            agent.last_ms = Some(crate::trace::rounded(to));
        }
        if let (Some(chat), Some(answer)) = (&exchange.chat, &exchange.answer)
            && answer.is_billed()
        {
            let (input, output) = basis.tokens(chat, answer);
            agent.input_tokens += input;
            agent.output_tokens += output;
        }
    }
    agents
}

/// From the main agent's first request to the end of its last answer: what ran beside it counts only where it was waited
/// for. Null without a turn.
fn critical_path_ms(exchanges: &[Exchange]) -> Option<f64> {
    let main = || exchanges.iter().filter(|e| e.class == RequestClass::AgentTurn).filter_map(|e| e.waited);
    let first = main().map(|(from, _)| from).reduce(f64::min)?;
    let last = main().map(|(_, to)| to).reduce(f64::max)?;
    Some(crate::trace::rounded(last - first))
}

fn completeness(exchanges: &[Exchange]) -> &'static str {
    if billed(exchanges).next().is_none() {
        return "none";
    }
    let cut = billed(exchanges).any(|(_, _, answer)| !answer.whole)
        || exchanges.iter().any(|exchange| exchange.abandoned || exchange.thrown_away > 0);
    if cut { "lower_bound" } else { "complete" }
}

/// The provider's words, summed; a field is null unless every response that spoke of usage said it.
fn provider_usage(exchanges: &[Exchange]) -> Option<Usage> {
    let said: Vec<_> = billed(exchanges).filter_map(|(_, _, a)| a.turn.as_ref()?.usage).collect();
    if said.is_empty() {
        return None;
    }
    let sum = |of: fn(&bench_wire::WireUsage) -> Option<u64>| said.iter().map(of).sum::<Option<u64>>();
    Some(Usage {
        input_tokens: sum(|usage| usage.input_tokens),
        cached_input_tokens: sum(|usage| usage.cached_input_tokens),
        cache_write_tokens: sum(|usage| usage.cache_write_tokens),
        output_tokens: sum(|usage| usage.output_tokens),
        reasoning_tokens: sum(|usage| usage.reasoning_tokens),
    })
}

fn totals(exchanges: &[Exchange], walk: &Walk<'_>, provider: Option<&Usage>) -> Totals {
    let any = billed(exchanges).next().is_some();
    let (input, output) = billed(exchanges)
        .map(|(_, chat, answer)| walk.basis.tokens(chat, answer))
        .fold((0, 0), |(a, b), (input, output)| (a + input, b + output));
    let provider = provider.filter(|_| walk.basis == Basis::Provider);
    Totals {
        input_tokens: any.then_some(input),
        cached_input_tokens: provider.and_then(|usage| usage.cached_input_tokens),
        output_tokens: any.then_some(output),
        reasoning_tokens: provider.and_then(|usage| usage.reasoning_tokens),
        total_tokens: any.then_some(input + output),
        requests: exchanges.len() as u64,
        turns: walk.turns.len() as u64,
        tool_calls: walk.turns.iter().map(|turn| turn.calls.len() as u64).sum(),
        tool_errors: walk.context.knows_errors.then_some(walk.errors),
        human_steps: exchanges.iter().filter(|e| e.class == RequestClass::Human).count() as u64,
        retries: exchanges.iter().map(|exchange| u64::from(exchange.retries)).sum(),
        surface_changes: walk.surface_changes,
        compactions: billed(exchanges).filter(|(e, _, _)| e.class == RequestClass::Compaction).count() as u64,
        loads: walk.loads.len() as u64,
    }
}

/// Length of the union of the waits: two requests at once are waited for once.
fn union_ms(exchanges: &[Exchange]) -> f64 {
    let mut waits: Vec<(f64, f64)> = exchanges.iter().filter_map(|exchange| exchange.waited).collect();
    waits.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut sum = 0.0;
    let mut reached = f64::NEG_INFINITY;
    for (from, to) in waits {
        sum += (to - from.max(reached)).max(0.0);
        reached = reached.max(to);
    }
    crate::trace::rounded(sum)
}

/// Over what was asked and what was said, in order.
fn transcript(exchanges: &[Exchange]) -> Sha256Hex {
    let mut parts: Vec<(&str, &str)> = Vec::new();
    for exchange in exchanges {
        let Some(chat) = &exchange.chat else { continue };
        parts.push(("request", chat.semantic.as_str()));
        let said = exchange.answer.as_ref().and_then(|answer| answer.turn.as_ref()?.digest.as_ref());
        parts.extend(said.map(|digest| ("answer", digest.as_str())));
    }
    Sha256Hex::of_parts(parts.iter().map(|(name, text)| (*name, text.as_bytes())))
}

/// What each request of the agent's own loop showed, and what was called in answer.
pub(crate) fn shown(exchanges: &[Exchange]) -> Vec<ShownTurn> {
    let turns = exchanges.iter().filter(|exchange| exchange.class == RequestClass::AgentTurn);
    let called = |exchange: &Exchange| -> Vec<String> {
        let turn = exchange.answer.as_ref().and_then(|answer| answer.turn.as_ref());
        turn.map(|turn| turn.calls.clone()).unwrap_or_default()
    };
    let shown = |exchange: &Exchange| {
        let tools = exchange.chat.as_ref()?.offer.direct.clone();
        Some(ShownTurn { request: exchange.request, tools, calls: called(exchange) })
    };
    turns.filter_map(shown).collect()
}

/// Model ids in order of first appearance.
pub(crate) fn models(exchanges: &[Exchange]) -> (Vec<String>, Vec<String>) {
    let asked = exchanges.iter().filter_map(|e| e.chat.as_ref()).map(|chat| chat.model.clone());
    let answered = exchanges.iter().filter_map(|e| e.answer.as_ref()?.turn.as_ref()).map(|t| t.model.clone());
    (distinct(asked), distinct(answered))
}

fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names.filter(|name| !name.is_empty() && seen.insert(name.clone())).collect()
}

#[cfg(test)]
pub(super) mod tests;
