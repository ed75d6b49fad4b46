//! The contract of every mechanism of discovery, in one table: which calls stand before the first use of a deferred tool,
//! how it is called then, and what changes in the request. On every wire where a mechanism differs from the others.
//! None of them unloads, and none touches what stood in a request before.

use bench_core::WireKind;
use bench_core::experiment::Capabilities;
use bench_wire::{Api, Exposure, ModelRequest};
use serde_json::{Value, json};

use crate::conversation_tests::{Answer, calls_on, hold_on, of_catalogue, says_on};

/// A tool and its arguments.
type Said = (&'static str, Value);

struct Row {
    surface: &'static str,
    wire: WireKind,
    flags: Capabilities,
    /// Calls before the first use; each is a round trip.
    before: Vec<Said>,
    first_use: Said,
    /// Entries that join the tail of `tools`.
    tail: usize,
    /// Tools that a result in the conversation makes callable.
    found: usize,
}

fn row(surface: &'static str, before: Vec<Said>, first_use: Said, tail: usize) -> Row {
    let (wire, flags) = (WireKind::OpenaiChat, Capabilities::default());
    Row { surface, wire, flags, before, first_use, tail, found: 0 }
}

fn table() -> Vec<Row> {
    let rg = || ("rg", json!({"pattern": "two"}));
    let gateway = || vec![("capabilities", json!({"groups": ["search"]}))];
    let search = || vec![("tool_search", json!({"query": "rg", "limit": 1}))];
    let through = ("tool_call", json!({"name": "rg", "arguments": rg().1}));
    let path = ("write", json!({"path": "dev://rg", "content": rg().1.to_string()}));
    let flags = Capabilities { supports_tool_search: true, ..Capabilities::default() };
    let namespaces = Capabilities { supports_namespaces: true, ..flags.clone() };
    let native = |wire, flags: &Capabilities, tail, found| {
        let before = if flags.supports_tool_search { search() } else { gateway() };
        Row { wire, flags: flags.clone(), found, ..row("native", before, rg(), tail) }
    };
    vec![
        row("entries", vec![], rg(), 0),
        row("all", vec![], rg(), 0),
        row("gateway", gateway(), rg(), 2),
        row("search-tail", search(), rg(), 1),
        row("search-result", search(), through, 0),
        row("devices", vec![], path, 0),
        native(WireKind::OpenaiChat, &flags.clone(), 2, 0).falls_back(gateway()),
        native(WireKind::OpenaiResponses, &Capabilities::default(), 2, 0),
        native(WireKind::OpenaiResponses, &flags, 0, 1),
        native(WireKind::OpenaiResponses, &namespaces, 0, 1),
        native(WireKind::AnthropicMessages, &Capabilities::default(), 2, 0),
        native(WireKind::AnthropicMessages, &flags, 1, 1),
    ]
}

impl Row {
    /// On a wire that cannot defer, whatever the model can.
    fn falls_back(self, before: Vec<Said>) -> Self {
        Self { before, ..self }
    }

    fn path(&self) -> (Api, &'static str) {
        match self.wire {
            WireKind::OpenaiChat | WireKind::Gemini => (Api::Chat, "/v1/chat/completions"),
            WireKind::OpenaiResponses => (Api::Responses, "/v1/responses"),
            WireKind::AnthropicMessages => (Api::Messages, "/v1/messages"),
        }
    }

    fn what(&self) -> String {
        let flags = &self.flags;
        let (search, names) = (flags.supports_tool_search, flags.supports_namespaces);
        format!("{} on {} (search {search}, namespaces {names})", self.surface, self.wire.word())
    }
}

#[test]
fn the_contract_of_every_mechanism() {
    for row in table() {
        let what = row.what();
        let (api, path) = row.path();
        let mut script: Vec<Answer> =
            row.before.iter().map(|call| calls_on(api, std::slice::from_ref(call))).collect();
        script.push(calls_on(api, std::slice::from_ref(&row.first_use)));
        script.push(says_on(api, "Found."));
        let (told, bodies) = hold_on((row.wire, row.flags.clone()), of_catalogue(row.surface), script);
        assert_eq!(told.unwrap(), "Found.", "{what}");
        assert_eq!(bodies.len(), row.before.len() + 2, "{what}: round trips");

        let read = |body: &Value| ModelRequest::read(api, path, body.to_string().as_bytes()).unwrap();
        let (first, last) = (read(&bodies[0]), read(bodies.last().unwrap()));
        let results = last.messages.iter().flat_map(|message| &message.results);
        assert_eq!(results.last().unwrap().text, "a.txt:2:two\n", "{what}");

        let entries = |body: &Value| body["tools"].as_array().unwrap().clone();
        let (before, after) = (entries(&bodies[0]), entries(bodies.last().unwrap()));
        assert_eq!(after[..before.len()], before[..], "{what}: the prefix stays byte for byte");
        assert_eq!(after.len() - before.len(), row.tail, "{what}: the tail grows");
        let found = last.tools.iter().filter(|tool| tool.exposure == Exposure::Found).count();
        assert_eq!(found, row.found, "{what}: made callable by a result");
        let instructions = |request: &ModelRequest| -> Vec<String> {
            let spoken = request.messages.iter().filter(|message| message.is_instruction());
            spoken.map(|message| message.text.clone()).collect()
        };
        assert_eq!(instructions(&first), instructions(&last), "{what}: the instructions stay");
    }
}

#[test]
fn found_tools_stand_in_the_namespace_of_their_group_where_the_model_takes_them_apart() {
    let flags = Capabilities { supports_tool_search: true, ..Capabilities::default() };
    let found = |flags: Capabilities| {
        let search = [("tool_search", json!({"query": "git history", "limit": 2}))];
        let script = vec![calls_on(Api::Responses, &search), says_on(Api::Responses, "x")];
        let bodies = hold_on((WireKind::OpenaiResponses, flags), of_catalogue("native"), script).1;
        let items = bodies[1]["input"].as_array().unwrap().clone();
        items.into_iter().find(|item| item["type"] == "tool_search_output").unwrap()["tools"].clone()
    };
    let flat = found(flags.clone());
    assert_eq!((flat[0]["type"].as_str(), flat.as_array().unwrap().len()), (Some("function"), 2));
    let nested = found(Capabilities { supports_namespaces: true, ..flags });
    assert_eq!((&nested[0]["type"], &nested[0]["name"]), (&json!("namespace"), &json!("git")));
    assert_eq!(nested[0]["tools"], flat);
}
