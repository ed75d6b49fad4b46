//! What is written is read back on every API, in both framings, wherever the bytes are cut.

use proptest::prelude::*;

use super::*;
use crate::chat::StreamUsage;
use crate::request::ModelRequest;
use crate::turn::{Call, CallForm};

const APIS: [Api; 4] = [Api::Chat, Api::Responses, Api::Messages, Api::Gemini];

fn turns() -> impl Strategy<Value = Turn> {
    let call =
        ("[a-z0-9_]{1,9}", "[a-z]{1,9}", "[a-z ]{0,9}", any::<u16>()).prop_map(|(id, name, key, n)| Call {
            id,
            name,
            arguments: serde_json::json!({key: n, "z": [true, null]}).to_string(),
            ..Call::default()
        });
    let usage = (any::<u32>(), proptest::option::of(0..9_u64), any::<u32>(), proptest::option::of(0..9_u64));
    let usage = usage.prop_map(|(input, cached, output, reasoning)| WireUsage {
        input_tokens: Some(u64::from(input) + 9),
        cached_input_tokens: cached,
        cache_write_tokens: None,
        output_tokens: Some(u64::from(output) + 9),
        reasoning_tokens: reasoning,
        ..WireUsage::default()
    });
    let long = (any::<String>(), 0..200_usize).prop_map(|(text, times)| text.repeat(times));
    (
        ("[a-z]{1,5}", "[a-z]{1,5}", long, any::<String>()),
        proptest::collection::vec(call, 0..4),
        proptest::option::of(usage),
    )
        .prop_map(|((id, model, text, reasoning), calls, usage)| Turn {
            id,
            model,
            text,
            reasoning,
            calls,
            usage,
            ..Turn::default()
        })
}

/// The turn as an API can say it: its own word for the end, and only what has a place there.
fn on(api: Api, turn: &Turn) -> Turn {
    let mut turn = turn.clone();
    let calls = !turn.calls.is_empty();
    let word = match api {
        Api::Chat => ["stop", "tool_calls"][usize::from(calls)],
        Api::Responses => "completed",
        Api::Messages => ["end_turn", "tool_use"][usize::from(calls)],
        Api::Gemini => "STOP",
    };
    turn.finish = Some(word.to_owned());
    if api == Api::Messages
        && let Some(usage) = &mut turn.usage
    {
        usage.reasoning_tokens = None;
    }
    turn
}

fn read(
    api: Api,
    bytes: &[u8],
    cuts: &[prop::sample::Index],
    content_type: Option<&str>,
) -> Result<Turn, TurnError> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    at.extend([0, bytes.len()]);
    at.sort_unstable();
    let mut reader = ReplyReader::new(api, content_type);
    at.windows(2).for_each(|pair| reader.feed(&bytes[pair[0]..pair[1]]));
    reader.finish().map(|mut turn| {
        // The writers add up; what they wrote has no total of its own.
        if let Some(usage) = &mut turn.usage {
            let total = usage.stated_total.take();
            assert!(total.is_none() || total == usage.total_tokens(), "{usage:?}");
        }
        turn
    })
}

proptest! {
    #[test]
    fn a_turn_survives_both_framings(turn in turns(), cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        for api in APIS {
            let turn = on(api, &turn);
            let json = write_json(api, &turn);
            prop_assert_eq!(read(api, &json, &cuts, Some("application/json")), Ok(turn.clone()), "{:?}", api);
            let stream = write_stream(api, &turn, StreamUsage::Included).concat();
            prop_assert_eq!(read(api, &stream, &cuts, Some("text/event-stream")), Ok(turn.clone()), "{:?}", api);
            prop_assert_eq!(read(api, &stream, &cuts, None), Ok(turn), "{:?}", api);
        }
    }

    #[test]
    fn a_stream_without_its_end_is_never_taken_for_a_whole_turn(turn in turns(), cut in any::<prop::sample::Index>()) {
        for api in APIS {
            let frames = write_stream(api, &on(api, &turn), StreamUsage::Included);
            let end = frames.len() - match api {
                Api::Chat => if turn.usage.is_some() { 3 } else { 2 },
                Api::Responses | Api::Gemini => 1,
                Api::Messages => 2,
            };
            let head = frames[..end].concat();
            let kept = &head[..cut.index(head.len() + 1)];
            prop_assert!(read(api, kept, &[], Some("text/event-stream")).is_err(), "{:?}", api);
        }
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for api in APIS {
            let _ = read(api, &bytes, &[], None);
            let _ = ModelRequest::read(api, "/v1beta/models/m:generateContent", &bytes);
        }
    }

    #[test]
    fn no_json_panics(value in values()) {
        let text = value.to_string();
        for api in APIS {
            let _ = read(api, text.as_bytes(), &[], None);
            let _ = read(api, format!("data: {text}\n\n").as_bytes(), &[], None);
            let _ = ModelRequest::read(api, "/x", text.as_bytes());
        }
    }
}

/// JSON made of the words that the readers look for, in places where they do not belong.
fn values() -> impl Strategy<Value = Value> {
    const WORDS: [&str; 40] = [
        "type",
        "model",
        "messages",
        "input",
        "contents",
        "tools",
        "content",
        "role",
        "parts",
        "text",
        "name",
        "namespace",
        "function",
        "additional_tools",
        "tool_search_output",
        "function_call",
        "custom_tool_call",
        "call_id",
        "id",
        "arguments",
        "output",
        "item",
        "delta",
        "index",
        "content_block",
        "content_block_start",
        "content_block_delta",
        "response.output_item.done",
        "response.completed",
        "response",
        "usage",
        "candidates",
        "functionCall",
        "functionResponse",
        "functionDeclarations",
        "system",
        "tool_use",
        "tool_result",
        "partial_json",
        "tool_use_id",
    ];
    let word = || prop::sample::select(WORDS.to_vec());
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            proptest::collection::vec((word(), inner), 0..6).prop_map(|fields| {
                Value::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }),
        ]
    })
}

#[test]
fn a_custom_call_stays_custom() {
    let call = Call {
        id: "c".into(),
        name: "exec".into(),
        arguments: "text(1)".into(),
        namespace: None,
        form: CallForm::Custom,
    };
    let turn = Turn { calls: vec![call], finish: Some("completed".into()), ..Turn::default() };
    let stream = write_stream(Api::Responses, &turn, StreamUsage::Included).concat();
    assert_eq!(read(Api::Responses, &stream, &[], None), Ok(turn.clone()));
    assert_eq!(read(Api::Responses, &write_json(Api::Responses, &turn), &[], None), Ok(turn));
}
