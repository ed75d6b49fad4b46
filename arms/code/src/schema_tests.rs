//! Types from schemas: single features, and whole schemas as servers send them.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn typed(schema: Value) -> String {
    type_of(&schema, "T", Comments::LeftOut).text
}

#[test]
fn each_feature_in_one_table() {
    for (schema, text) in [
        (json!({"type": "string"}), "string"),
        (json!({"type": "integer", "minimum": 1}), "number"),
        (json!({"type": ["string", "null"]}), "string | null"),
        (json!({"type": "string", "nullable": true}), "string | null"),
        (json!({"enum": ["a", 1, null, "a"]}), "\"a\" | 1 | null"),
        (json!({"const": {"a": 1}}), "{\"a\":1}"),
        (json!({"type": "array", "items": {"type": "string"}}), "string[]"),
        (json!({"type": "array", "items": {"enum": ["a", "b|c"]}}), "(\"a\" | \"b|c\")[]"),
        (json!({"type": "array", "items": {"enum": ["b|c"]}}), "\"b|c\"[]"),
        (json!({"type": "array"}), "unknown[]"),
        (json!({"type": "array", "prefixItems": [{"type": "number"}, {}]}), "[number, unknown]"),
        (json!({"type": "object"}), "Record<string, unknown>"),
        (json!({"type": "object", "additionalProperties": false}), "{}"),
        (json!({"type": "object", "additionalProperties": {"type": "number"}}), "Record<string, number>"),
        (
            json!({"properties": {"a-b": {"type": "boolean"}, "c": {}}, "required": ["c"]}),
            "{ \"a-b\"?: boolean; c: unknown }",
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "number"}}),
            "{ a?: string; [key: string]: unknown }",
        ),
        (json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {}}]}), "string | unknown[]"),
        (json!({"oneOf": [{"type": "string"}, {}]}), "unknown"),
        (
            json!({"allOf": [{"anyOf": [{"type": "string"}, {"type": "null"}]}, {"const": 1}]}),
            "(string | null) & 1",
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [{"required": ["a"]}]}),
            "{ a?: string }",
        ),
        (json!(true), "unknown"),
        (json!(false), "never"),
        (json!({"$ref": "#/$defs/Missing"}), "unknown"),
        (json!({"$ref": "https://elsewhere/x.json"}), "unknown"),
        (json!(null), "unknown"),
    ] {
        assert_eq!(typed(schema.clone()), text, "{schema}");
    }
}

#[test]
fn what_refers_to_itself_becomes_a_named_type() {
    let tree = json!({
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/Node"}, "other": {"$ref": "#/$defs/Leaf"}},
        "required": ["root"],
        "$defs": {
            "Node": {"type": "object", "properties": {
                "label": {"type": "string"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
            }},
            "Leaf": {"type": "number"},
        },
    });
    let found = type_of(&tree, "Svc", Comments::LeftOut);
    assert_eq!(found.text, "{ root: SvcNode; other?: number }");
    assert_eq!(found.named, [("SvcNode".to_owned(), "{ label?: string; children?: SvcNode[] }".to_owned())]);
    let whole = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
    let found = type_of(&whole, "Svc", Comments::LeftOut);
    assert_eq!(found.text, "{ next?: SvcArguments }");
    assert_eq!(found.named, [("SvcArguments".to_owned(), "{ next?: SvcArguments }".to_owned())]);
}

#[test]
fn a_schema_that_unfolds_without_end_is_bounded() {
    let mut definitions = Map::new();
    for level in 0..30 {
        let inner = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        definitions
            .insert(format!("d{level}"), json!({"type": "object", "properties": {"a": inner, "b": inner}}));
    }
    let found = typed(json!({"$ref": "#/$defs/d0", "$defs": definitions}));
    assert!(found.len() < 100_000 && found.contains("unknown"), "{}", found.len());
}

#[test]
fn a_description_cannot_leave_its_comment() {
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "string", "description": "x */ evil(\n) /*"}}});
    let text = type_of(&schema, "T", Comments::Shown).text;
    assert_eq!(text.matches("*/").count(), 1, "{text}");
    assert!(text.starts_with("{ /** x *\u{200b}/ evil( ) /* */ a?: string }"), "{text}");
}

fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!({"$ref": "#"})),
        Just(json!({"$ref": "#/$defs/x"})),
        Just(json!({"enum": ["a\"b", "*/", "\n"]})),
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|item| json!({"type": "array", "items": item})),
            proptest::collection::vec(("[a-z \"-]{0,5}", inner.clone()), 0..4).prop_map(|members| {
                let members: Map<String, Value> = members.into_iter().collect();
                json!({"type": "object", "properties": members, "$defs": {"x": {"$ref": "#/$defs/x"}}})
            }),
            proptest::collection::vec(inner, 0..4).prop_map(|options| json!({"anyOf": options})),
        ]
    })
}

proptest! {
    #[test]
    fn every_schema_becomes_a_type_that_the_parser_accepts(schema in any_schema()) {
        let found = type_of(&schema, "T", Comments::Shown);
        let named: String = found.named.iter().map(|(name, text)| format!("type {name} = {text};\n")).collect();
        let script = format!("{named}type Whole = {};", found.text);
        prop_assert!(crate::strip::strip(&script).is_ok(), "{script}");
    }
}
