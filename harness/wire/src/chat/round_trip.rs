//! What is written is read back, in both framings, wherever the bytes are cut.

use proptest::prelude::*;

use super::{StreamUsage, TurnReader, write_json, write_stream};
use crate::turn::{Call, Turn, TurnError, WireUsage};

fn turns() -> impl Strategy<Value = Turn> {
    let call = ("[a-z0-9_]{1,9}", "[a-z]{1,9}", any::<String>()).prop_map(|(id, name, arguments)| Call {
        id,
        name,
        arguments,
        ..Call::default()
    });
    let usage = (any::<u32>(), any::<Option<u32>>(), any::<u32>(), any::<Option<u32>>()).prop_map(
        |(input, cached, output, reasoning)| WireUsage {
            input_tokens: Some(input.into()),
            cached_input_tokens: cached.map(Into::into),
            output_tokens: Some(output.into()),
            reasoning_tokens: reasoning.map(Into::into),
            cache_write_tokens: None,
            ..WireUsage::default()
        },
    );
    let long = (any::<String>(), 0..200_usize).prop_map(|(text, times)| text.repeat(times));
    (
        ("[a-z]{0,5}", any::<String>(), long, any::<String>()),
        proptest::collection::vec(call, 0..4),
        prop_oneof![Just("stop"), Just("tool_calls"), Just("length")],
        proptest::option::of(usage),
        proptest::option::of("[a-z]{0,5}"),
    )
        .prop_map(|((id, model, text, reasoning), calls, finish, usage, fingerprint)| Turn {
            id,
            model,
            text,
            reasoning,
            calls,
            finish: Some(finish.to_owned()),
            usage,
            fingerprint,
        })
}

fn read(bytes: &[u8], cuts: &[prop::sample::Index], content_type: Option<&str>) -> Result<Turn, TurnError> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    at.extend([0, bytes.len()]);
    at.sort_unstable();
    let mut reader = TurnReader::new(content_type);
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
        let json = write_json(&turn);
        prop_assert_eq!(read(&json, &cuts, Some("application/json")), Ok(turn.clone()));
        prop_assert_eq!(read(&json, &cuts, None), Ok(turn.clone()));
        let stream = write_stream(&turn, StreamUsage::Included).concat();
        prop_assert_eq!(read(&stream, &cuts, Some("text/event-stream")), Ok(turn.clone()));
        prop_assert_eq!(read(&stream, &cuts, None), Ok(turn.clone()));
        let silent = write_stream(&turn, StreamUsage::LeftOut).concat();
        prop_assert_eq!(read(&silent, &cuts, None), Ok(Turn { usage: None, ..turn }));
    }

    #[test]
    fn a_stream_cut_short_is_never_taken_for_a_whole_turn(turn in turns(), cut in any::<prop::sample::Index>()) {
        let frames = write_stream(&turn, StreamUsage::Included);
        let finish_frame = frames.len() - if turn.usage.is_some() { 3 } else { 2 };
        let head = frames[..finish_frame].concat();
        let kept = &head[..cut.index(head.len() + 1)];
        prop_assert!(read(kept, &[], Some("text/event-stream")).is_err());
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), piece in "\\PC{0,80}") {
        let _ = read(&bytes, &[], None);
        let _ = read(format!("data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{piece}]}}}}]}}\n\n").as_bytes(), &[], None);
    }
}

#[test]
fn what_other_servers_write_is_understood() {
    let stream = concat!(
        ": keep-alive\n\n",
        "data: {\"choices\":[{\"delta\":{\"reasoning\":\"hm\"}}],\"usage\":null}\r\n\r\n",
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"x\",\"arguments\":\"{\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":\"}\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"b\",\"function\":{\"name\":\"y\",\"arguments\":{\"k\":1}}}]}}]}\n\n",
        "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"another choice\"}},{\"delta\":{},\"finish_reason\":\"tool_calls\"}],",
        "\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2,\"prompt_cache_hit_tokens\":4}}\n\n",
        "data: [DONE]\n",
    );
    let turn = read(stream.as_bytes(), &[], Some("text/event-stream; charset=utf-8")).unwrap();
    let calls: Vec<_> =
        turn.calls.iter().map(|c| (c.id.as_str(), c.name.as_str(), c.arguments.as_str())).collect();
    assert_eq!(calls, [("a", "x", "{}"), ("b", "y", "{\"k\":1}")]);
    assert_eq!((turn.text.as_str(), turn.reasoning.as_str()), ("", "hm"));
    assert_eq!(turn.usage.unwrap().cached_input_tokens, Some(4));
}

#[test]
fn what_a_lenient_reader_takes_does_not_lose_the_turn() {
    let stream = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\\ud83d\"}}]}\n\n\
                  data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\\ude00b\"}}]}\n\n\
                  data: {no json}\n\n\
                  data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\",\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2.0}}]}\n\n\
                  data: {\"choices\":[],\"usage\":{}}\n\ndata: [DONE]";
    let error = read(stream.as_bytes(), &[], Some("text/event-stream")).unwrap_err();
    let TurnError::Incomplete { turn, .. } = error else { panic!("{error}") };
    assert_eq!((turn.text.as_str(), turn.finish.as_deref()), ("a\u{fffd}\u{fffd}b", Some("stop")));
    let usage = turn.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (Some(7), Some(2)));
    let groq = br#"{"choices":[{"index":0,"message":{"content":"x"},"finish_reason":"stop"}],"x_groq":{"usage":{"prompt_tokens":3}}}"#;
    assert_eq!(read(groq, &[], None).unwrap().usage.unwrap().input_tokens, Some(3));
}

#[test]
fn an_error_in_a_stream_keeps_what_came_before_it() {
    let stream = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half\"}}],\"usage\":{\"prompt_tokens\":7}}\n\n\
                  data: {\"error\":{\"message\":\"overloaded\",\"code\":502},\"usage\":{},\"x_groq\":{\"usage\":{\"completion_tokens\":4}}}\n\n";
    let error = read(stream.as_bytes(), &[], Some("text/event-stream")).unwrap_err();
    let TurnError::Refused { turn, message } = error else { panic!("{error}") };
    assert_eq!((message.as_str(), turn.text.as_str()), ("overloaded", "half"));
    let usage = turn.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (Some(7), Some(4)));
}

#[test]
fn an_error_object_is_the_providers_word() {
    let error = read(br#"{"error":{"message":"no such model","type":"x"}}"#, &[], None).unwrap_err();
    assert!(matches!(error, TurnError::Refused { message, .. } if message == "no such model"));
}
