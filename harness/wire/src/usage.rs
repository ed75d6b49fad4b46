//! What providers say a turn cost, brought into one normal form: input includes everything read, cached or not; output
//! includes reasoning; what was not said is null, never zero.

use serde_json::Value;

use crate::api::Api;
use crate::fields::number_at;
use crate::turn::WireUsage;

/// The usage object of an API in the normal form.
pub(crate) fn usage_of(api: Api, usage: &Value) -> WireUsage {
    match api {
        Api::Chat => chat(usage),
        Api::Responses => responses(usage),
        Api::Messages => messages(usage),
        Api::Gemini => gemini(usage),
    }
}

/// OpenAI: `prompt_tokens` includes cached ones, `completion_tokens` includes reasoning. DeepSeek says hits and misses
/// instead. Some servers leave reasoning out of `completion_tokens`; their own total shows it.
fn chat(usage: &Value) -> WireUsage {
    let at = |path: &[&str]| number_at(usage, path);
    let (hit, miss) = (at(&["prompt_cache_hit_tokens"]), at(&["prompt_cache_miss_tokens"]));
    let both = hit.zip(miss).map(|(hit, miss)| hit.saturating_add(miss));
    let input = at(&["prompt_tokens"]).or(both);
    let reasoning = at(&["completion_tokens_details", "reasoning_tokens"]);
    let output = at(&["completion_tokens"]).map(|output| {
        let left_out =
            input.zip(reasoning).zip(at(&["total_tokens"])).is_some_and(|((input, reasoning), total)| {
                reasoning > 0 && total == input.saturating_add(output).saturating_add(reasoning)
            });
        if left_out { output.saturating_add(reasoning.unwrap_or(0)) } else { output }
    });
    WireUsage {
        input_tokens: input,
        cached_input_tokens: at(&["prompt_tokens_details", "cached_tokens"]).or(hit),
        cache_write_tokens: at(&["prompt_tokens_details", "cache_write_tokens"]),
        output_tokens: output,
        reasoning_tokens: reasoning,
        stated_total: at(&["total_tokens"]),
        missed_tokens: miss,
    }
}

/// OpenAI Responses: the same meanings under other names.
fn responses(usage: &Value) -> WireUsage {
    let at = |path: &[&str]| number_at(usage, path);
    WireUsage {
        input_tokens: at(&["input_tokens"]),
        cached_input_tokens: at(&["input_tokens_details", "cached_tokens"]),
        cache_write_tokens: at(&["input_tokens_details", "cache_write_tokens"]),
        output_tokens: at(&["output_tokens"]),
        reasoning_tokens: at(&["output_tokens_details", "reasoning_tokens"]),
        stated_total: at(&["total_tokens"]),
        missed_tokens: None,
    }
}

/// Anthropic: `input_tokens` excludes what was read from and written to the cache.
fn messages(usage: &Value) -> WireUsage {
    let at = |path: &[&str]| number_at(usage, path);
    let read = at(&["cache_read_input_tokens"]);
    let written = at(&["cache_creation_input_tokens"]).or_else(|| {
        let by_life = |life: &str| at(&["cache_creation", life]);
        let parts = [by_life("ephemeral_5m_input_tokens"), by_life("ephemeral_1h_input_tokens")];
        let sum = || parts.iter().flatten().fold(0_u64, |all, part| all.saturating_add(*part));
        parts.iter().any(Option::is_some).then(sum)
    });
    let input = at(&["input_tokens"]);
    WireUsage {
        input_tokens: input
            .map(|input| input.saturating_add(read.unwrap_or(0)).saturating_add(written.unwrap_or(0))),
        cached_input_tokens: read,
        cache_write_tokens: written,
        output_tokens: at(&["output_tokens"]),
        reasoning_tokens: at(&["output_tokens_details", "thinking_tokens"]),
        stated_total: None,
        missed_tokens: None,
    }
}

/// Gemini: the prompt includes cached tokens, what tools read comes on top; candidates exclude thoughts.
fn gemini(usage: &Value) -> WireUsage {
    let at = |key: &str| number_at(usage, &[key]);
    let thoughts = at("thoughtsTokenCount");
    let input = at("promptTokenCount");
    let output = match (at("candidatesTokenCount"), thoughts) {
        (Some(said), thoughts) => Some(said.saturating_add(thoughts.unwrap_or(0))),
        (None, Some(thoughts)) => Some(thoughts),
        (None, None) => None,
    };
    WireUsage {
        input_tokens: input.map(|input| input.saturating_add(at("toolUsePromptTokenCount").unwrap_or(0))),
        cached_input_tokens: at("cachedContentTokenCount"),
        cache_write_tokens: None,
        output_tokens: output,
        reasoning_tokens: thoughts,
        stated_total: at("totalTokenCount"),
        missed_tokens: None,
    }
}

impl WireUsage {
    /// What in it contradicts itself: a part that is larger than its whole. A usage that does is nobody's bill.
    pub fn contradiction(&self) -> Option<String> {
        let beyond = |part: Option<u64>, whole: Option<u64>, names: (&str, &str)| {
            let (part, whole) = part.zip(whole)?;
            (part > whole).then(|| format!("{} {part} of {} {whole}", names.0, names.1))
        };
        let from_cache = self.cached_input_tokens.zip(self.cache_write_tokens);
        let cache = from_cache.map(|(read, written)| read.saturating_add(written));
        let both =
            self.cached_input_tokens.zip(self.missed_tokens).map(|(hit, miss)| hit.saturating_add(miss));
        let parts = both.zip(self.input_tokens).filter(|(both, input)| both != input);
        let unequal = |(both, input): (u64, u64)| format!("cached and missed {both} of input {input}");
        beyond(self.cached_input_tokens, self.input_tokens, ("cached", "input"))
            .or_else(|| beyond(self.input_tokens, self.stated_total, ("input", "total")))
            .or_else(|| beyond(self.output_tokens, self.stated_total, ("output", "total")))
            .or_else(|| parts.map(unequal))
            .or_else(|| beyond(cache, self.input_tokens, ("cached and written", "input")))
            .or_else(|| beyond(self.reasoning_tokens, self.output_tokens, ("reasoning", "output")))
    }

    /// Input plus output; null when one was not said.
    pub fn total_tokens(&self) -> Option<u64> {
        Some(self.input_tokens?.saturating_add(self.output_tokens?))
    }

    /// What a later word of the same response adds to an earlier one: counts are running totals, never summed.
    #[must_use]
    pub(crate) fn later(self, later: Self) -> Self {
        Self {
            input_tokens: later.input_tokens.or(self.input_tokens),
            cached_input_tokens: later.cached_input_tokens.or(self.cached_input_tokens),
            cache_write_tokens: later.cache_write_tokens.or(self.cache_write_tokens),
            output_tokens: later.output_tokens.or(self.output_tokens),
            reasoning_tokens: later.reasoning_tokens.or(self.reasoning_tokens),
            stated_total: later.stated_total.or(self.stated_total),
            missed_tokens: later.missed_tokens.or(self.missed_tokens),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// input, cached, written, output, reasoning.
    type Golden = (Option<u64>, Option<u64>, Option<u64>, Option<u64>, Option<u64>);

    fn check(api: Api, usage: &Value, expected: Golden) {
        let read = usage_of(api, usage);
        let got = (
            read.input_tokens,
            read.cached_input_tokens,
            read.cache_write_tokens,
            read.output_tokens,
            read.reasoning_tokens,
        );
        assert_eq!(got, expected, "{usage}");
        assert_eq!(read.contradiction(), None, "{usage}");
    }

    #[test]
    fn openai_input_includes_the_cache_and_output_includes_reasoning() {
        let chat = json!({"prompt_tokens": 2006, "completion_tokens": 300, "total_tokens": 2306,
            "prompt_tokens_details": {"cached_tokens": 1920, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 192, "accepted_prediction_tokens": 0}});
        check(Api::Chat, &chat, (Some(2006), Some(1920), None, Some(300), Some(192)));
        let responses = json!({"input_tokens": 328, "input_tokens_details": {"cached_tokens": 320},
            "output_tokens": 52, "output_tokens_details": {"reasoning_tokens": 40}, "total_tokens": 380});
        check(Api::Responses, &responses, (Some(328), Some(320), None, Some(52), Some(40)));
    }

    #[test]
    fn anthropic_input_excludes_both_halves_of_the_cache() {
        let usage = json!({"input_tokens": 12, "cache_creation_input_tokens": 1000,
            "cache_read_input_tokens": 30000, "output_tokens": 50, "service_tier": "standard",
            "cache_creation": {"ephemeral_5m_input_tokens": 600, "ephemeral_1h_input_tokens": 400}});
        check(Api::Messages, &usage, (Some(31012), Some(30000), Some(1000), Some(50), None));
        let by_life = json!({"input_tokens": 1, "output_tokens": 2,
            "cache_creation": {"ephemeral_5m_input_tokens": 6, "ephemeral_1h_input_tokens": 4}});
        check(Api::Messages, &by_life, (Some(11), None, Some(10), Some(2), None));
    }

    #[test]
    fn deepseek_says_hits_and_misses() {
        let whole = json!({"prompt_tokens": 2048, "completion_tokens": 10, "total_tokens": 2058,
            "prompt_cache_hit_tokens": 1984, "prompt_cache_miss_tokens": 64,
            "completion_tokens_details": {"reasoning_tokens": 4}});
        check(Api::Chat, &whole, (Some(2048), Some(1984), None, Some(10), Some(4)));
        let halves =
            json!({"prompt_cache_hit_tokens": 5, "prompt_cache_miss_tokens": 7, "completion_tokens": 1});
        check(Api::Chat, &halves, (Some(12), Some(5), None, Some(1), None));
    }

    #[test]
    fn reasoning_is_added_only_where_the_providers_own_total_shows_that_it_was_left_out() {
        let left_out = json!({"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 135,
            "completion_tokens_details": {"reasoning_tokens": 94}});
        check(Api::Chat, &left_out, (Some(32), None, None, Some(103), Some(94)));
        let included = json!({"prompt_tokens": 32, "completion_tokens": 103, "total_tokens": 135,
            "completion_tokens_details": {"reasoning_tokens": 94}});
        check(Api::Chat, &included, (Some(32), None, None, Some(103), Some(94)));
    }

    #[test]
    fn gemini_thoughts_stand_beside_candidates_and_tool_prompts_beside_the_prompt() {
        let usage = json!({"promptTokenCount": 100, "cachedContentTokenCount": 80, "candidatesTokenCount": 20,
            "thoughtsTokenCount": 300, "toolUsePromptTokenCount": 7, "totalTokenCount": 427});
        check(Api::Gemini, &usage, (Some(107), Some(80), None, Some(320), Some(300)));
        check(Api::Gemini, &json!({"promptTokenCount": 9}), (Some(9), None, None, None, None));
    }

    #[test]
    fn what_was_not_said_is_null() {
        for api in [Api::Chat, Api::Responses, Api::Messages, Api::Gemini] {
            check(api, &json!({}), (None, None, None, None, None));
        }
    }

    #[test]
    fn a_part_larger_than_its_whole_is_named() {
        let tokens = |input, cached, output, reasoning| WireUsage {
            input_tokens: Some(input),
            cached_input_tokens: cached,
            output_tokens: Some(output),
            reasoning_tokens: reasoning,
            cache_write_tokens: None,
            ..WireUsage::default()
        };
        let stated = |usage: Value| usage_of(Api::Chat, &usage).contradiction();
        assert_eq!(
            stated(json!({"prompt_tokens": 100, "completion_tokens": 1, "total_tokens": 50})).as_deref(),
            Some("input 100 of total 50")
        );
        assert_eq!(
            stated(
                json!({"prompt_tokens": 100, "prompt_cache_hit_tokens": 40, "prompt_cache_miss_tokens": 20})
            )
            .as_deref(),
            Some("cached and missed 60 of input 100")
        );
        assert_eq!(
            stated(json!({"prompt_tokens": 100.0, "completion_tokens": 1, "total_tokens": 101})),
            None
        );
        assert_eq!(
            tokens(97, Some(2_300_000), 5, None).contradiction().as_deref(),
            Some("cached 2300000 of input 97")
        );
        assert_eq!(tokens(97, None, 5, Some(6)).contradiction().as_deref(), Some("reasoning 6 of output 5"));
        assert_eq!(tokens(97, Some(97), 5, Some(5)).contradiction(), None);
        assert_eq!(tokens(97, None, 5, None).total_tokens(), Some(102));
    }

    #[test]
    fn a_running_total_is_never_summed() {
        let start = usage_of(
            Api::Messages,
            &json!({"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 1}),
        );
        let end = start.later(usage_of(Api::Messages, &json!({"output_tokens": 40})));
        assert_eq!((end.input_tokens, end.output_tokens), (Some(15), Some(40)));
    }
}
