//! The prompt that a DeepSeek model is given for a request, rendered by DeepSeek's own code and counted: its template adds
//! instructions and writes tools in a form of its own, so that a count of the JSON is wrong by half for a small request.
//!
//! Only models whose name says which prompt format they read are rendered; what a name like `deepseek-chat` stands for
//! changes without notice. Gemini's API is none that DeepSeek speaks.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bench_wire::Api;
use deepseek_recipe::anthropic::MessagesRequest;
use deepseek_recipe::openai::{ChatCompletionRequest, ResponsesRequest};
use deepseek_recipe::request::{ConversationRequest, ConversionOptions, ModelVersion, ProtocolRequest};
use deepseek_recipe_encoding::v4::{dsv4::DeepseekV4Encoding, dsv41::DeepseekV41Encoding};
use deepseek_recipe_encoding::{PromptEncoding as _, RenderedPrompt};

use crate::Counter;

/// The vocabulary of every DeepSeek model since V3; later ones differ in added tokens alone.
pub(crate) const VOCABULARY: &str = "deepseek_v3";

/// A request of a model whose prompt could be rendered, and was not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the prompt of model {model:?} cannot be rendered: {why}")]
pub struct Unrendered {
    /// The model.
    pub model: String,
    /// What the renderer has against it.
    pub why: String,
}

impl Counter {
    /// Tokens of the prompt that the model is given for this body, exactly; `None` = not known for this model, this API or
    /// by this tokenizer.
    pub fn prompt(&self, api: Api, model: &str, body: &[u8]) -> Result<Option<u64>, Unrendered> {
        let Some(format) = format_of(model).filter(|_| self.name() == VOCABULARY) else { return Ok(None) };
        let unrendered = |why: String| Unrendered { model: model.to_owned(), why };
        // The renderer is not ours and the body is the agent's: a panic in it must not take the request's record along.
        let rendered = catch_unwind(AssertUnwindSafe(|| rendered(api, model, format, body)));
        let rendered = rendered.unwrap_or_else(|_| Err("the renderer gave up".to_owned()));
        let Some(prompt) = rendered.map_err(unrendered)? else { return Ok(None) };
        if !prompt.image_sources.is_empty() {
            return Err(unrendered("it holds images, whose tokens depend on their pixels".to_owned()));
        }
        Ok(Some(self.count_parts(&prompt.prompt, &prompt.special_ranges)))
    }

    /// Tokens of a text in which these ranges are one token each.
    fn count_parts(&self, text: &str, special: &[Range<usize>]) -> u64 {
        let mut start = 0;
        let mut tokens = special.len() as u64;
        for range in special {
            tokens += self.count(&text[start..range.start]);
            start = range.end;
        }
        tokens + self.count(&text[start..])
    }
}

/// How a model's prompts are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    V4,
    V41,
}

/// The format that a model's name states, with or without a vendor before it.
fn format_of(model: &str) -> Option<Format> {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let rest = name.strip_prefix("deepseek-v")?;
    let number: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    match number.as_str() {
        "4" => Some(Format::V4),
        "4.1" => Some(Format::V41),
        _ => None,
    }
}

fn rendered(api: Api, model: &str, format: Format, body: &[u8]) -> Result<Option<RenderedPrompt>, String> {
    let version = match format {
        Format::V4 => ModelVersion::DeepseekV4Pro,
        Format::V41 => ModelVersion::DeepseekV41Flash,
    };
    let mut options = ConversionOptions::default().with_model_alias(model, version);
    // How much may be answered is no part of the prompt.
    options.thinking_max_tokens_upper_bound = u32::MAX;
    options.non_thinking_max_tokens_upper_bound = u32::MAX;
    let request = match api {
        Api::Chat => converted::<ChatCompletionRequest>(body, options)?,
        Api::Responses => converted::<ResponsesRequest>(body, options)?,
        Api::Messages => converted::<MessagesRequest>(body, options)?,
        Api::Gemini => return Ok(None),
    };
    Ok(Some(match format {
        Format::V4 => DeepseekV4Encoding::new().render_conversation(&request.conversation),
        Format::V41 => DeepseekV41Encoding::new().render_conversation(&request.conversation),
    }))
}

fn converted<R>(body: &[u8], options: ConversionOptions) -> Result<ConversationRequest, String>
where
    R: ProtocolRequest + serde::de::DeserializeOwned,
{
    let request: R = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    request.convert(options).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn counter() -> Counter {
        Counter::new(VOCABULARY).unwrap()
    }

    fn prompt(api: Api, body: &Value) -> u64 {
        let text = body.to_string();
        counter().prompt(api, body["model"].as_str().unwrap(), text.as_bytes()).unwrap().unwrap()
    }

    fn read_tool() -> Value {
        json!({"name": "read", "description": "Reads a file.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}})
    }

    fn chat(model: &str, tools: &[Value]) -> Value {
        let tools: Vec<_> = tools.iter().map(|tool| json!({"type": "function", "function": tool})).collect();
        let mut body = json!({"model": model, "messages": [
            {"role": "system", "content": "You are a coding agent."}, {"role": "user", "content": "Fix the bug."}]});
        if !tools.is_empty() {
            body["tools"] = Value::Array(tools);
        }
        body
    }

    #[test]
    fn prompts_are_counted_as_deepseek_renders_them_on_each_of_its_apis() {
        let counter = counter();
        let json = |body: &Value| counter.count(&body.to_string());
        let (bare, one) = (chat("deepseek-v4-flash", &[]), chat("deepseek-v4-flash", &[read_tool()]));
        let newer = chat("deepseek/DeepSeek-V4.1-Flash", &[read_tool()]);
        let tool = read_tool();
        let responses = json!({"model": "deepseek-v4-flash", "instructions": "You are a coding agent.",
            "input": "Fix the bug.", "tools": [{"type": "function", "name": tool["name"],
                "description": tool["description"], "parameters": tool["parameters"]}]});
        let messages = json!({"model": "deepseek-v4-flash", "max_tokens": 9, "system": "You are a coding agent.",
            "messages": [{"role": "user", "content": "Fix the bug."}], "thinking": {"type": "enabled", "budget_tokens": 5},
            "tools": [{"name": tool["name"], "description": tool["description"], "input_schema": tool["parameters"]}]});
        let counted = [
            (prompt(Api::Chat, &bare), json(&bare)),
            (prompt(Api::Chat, &one), json(&one)),
            (prompt(Api::Responses, &responses), json(&responses)),
            (prompt(Api::Messages, &messages), json(&messages)),
            (prompt(Api::Chat, &newer), json(&newer)),
        ];
        // The first tool brings the instructions of the format: a count of the JSON misses more than half.
        assert_eq!(counted, [(93, 38), (358, 83), (358, 68), (358, 95), (295, 89)]);
    }

    #[test]
    fn thinking_switched_off_leaves_its_instructions_out() {
        let on = chat("deepseek-v4-flash", &[]);
        let mut off = on.clone();
        off["thinking"] = json!({"type": "disabled"});
        assert!(prompt(Api::Chat, &off) < prompt(Api::Chat, &on));
    }

    #[test]
    fn the_name_of_a_special_token_in_a_text_is_text() {
        let with = |content: &str| {
            let mut body = chat("deepseek-v4-flash", &[]);
            body["messages"][1]["content"] = json!(content);
            prompt(Api::Chat, &body)
        };
        let name = "<\u{ff5c}User\u{ff5c}>";
        assert_eq!(
            with(&format!("a{name}")) - with("a"),
            counter().count(&format!("a{name}")) - counter().count("a")
        );
        assert!(counter().count(name) > 1);
    }

    #[test]
    fn only_what_is_known_is_rendered() {
        let counter = counter();
        for model in
            ["deepseek-chat", "deepseek-v3", "deepseek-r1", "deepseek-v40", "deepseek-v5", "gpt-5.5", ""]
        {
            let body = chat(model, &[]).to_string();
            assert_eq!(counter.prompt(Api::Chat, model, body.as_bytes()), Ok(None), "{model}");
        }
        let body = chat("deepseek-v4", &[]).to_string();
        assert_eq!(counter.prompt(Api::Gemini, "deepseek-v4", body.as_bytes()), Ok(None));
        let other = Counter::new("o200k_base").unwrap();
        assert_eq!(other.prompt(Api::Chat, "deepseek-v4", body.as_bytes()), Ok(None));
    }

    #[test]
    fn what_the_renderer_refuses_is_said_and_nothing_panics() {
        let counter = counter();
        let image = json!({"model": "deepseek-v4.1", "messages": [{"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]}]});
        for body in [
            b"{}".to_vec(),
            b"[1".to_vec(),
            br#"{"model":"deepseek-v4.1","messages":[]}"#.to_vec(),
            image.to_string().into_bytes(),
        ] {
            let said = counter.prompt(Api::Chat, "deepseek-v4.1", &body).unwrap_err();
            assert!(said.to_string().contains("deepseek-v4.1"), "{said}");
        }
    }
}
