//! Names, declarations and look-ups of functions.

use serde_json::json;

use super::*;

fn callback(tool: &str, parameters: Value) -> Callback {
    Callback {
        tool: tool.into(),
        owner: "agent".into(),
        description: format!("Does {tool}. And more */ so."),
        parameters,
        annotations: Value::Null,
        reach: Reach::Model,
    }
}

fn placed(functions: &Functions) -> Vec<String> {
    functions.all().iter().map(|f| format!("{}.{}={}", f.namespace, f.name, f.tool)).collect()
}

#[test]
fn namespaces_come_from_prefixes_and_owners() {
    let names = [
        "read",
        "git__status",
        "mcp__my-server__look_up",
        "svc__delete",
        "svc__a.b",
        "svc__a-b",
        "__x",
        "1__2",
    ];
    let functions = Functions::of(&names.map(|name| callback(name, json!({"type": "object"}))));
    assert_eq!(
        placed(&functions),
        [
            "_1._2=1__2",
            "Agent.__x=__x",
            "Agent.read=read",
            "Git.status=git__status",
            "My_server.look_up=mcp__my-server__look_up",
            "Svc.a_b=svc__a-b",
            "Svc.a_b_2=svc__a.b",
            "Svc._delete=svc__delete",
        ]
    );
    assert_eq!(functions.named("Svc.a_b_2").unwrap().tool, "svc__a.b");
    assert!(functions.named("Svc.none").is_none());
}

#[test]
fn what_is_not_for_code_is_left_out() {
    let mut shown = callback("svc__chart", json!({}));
    shown.reach = Reach::Resource("ui://chart".into());
    let mut hidden = callback("svc__inner", json!({}));
    hidden.reach = Reach::Invisible;
    let functions = Functions::of(&[shown, hidden, callback("svc__plain", json!({}))]);
    assert_eq!(placed(&functions), ["Svc.plain=svc__plain"]);
}

#[test]
fn the_same_tools_in_another_order_are_the_same_functions() {
    let (a, b) = (callback("a", json!({"type": "object"})), callback("b", json!({"type": "object"})));
    let mut cache = FunctionCache::default();
    let first = cache.of(&[a.clone(), b.clone()]);
    assert!(Arc::ptr_eq(&first, &cache.of(&[b.clone(), a.clone()])));
    let mut changed = b;
    changed.description.push('!');
    assert!(!Arc::ptr_eq(&first, &cache.of(&[a, changed])));
}

#[test]
fn declarations_of_every_form_are_typescript() {
    let node = json!({"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}}});
    let mut odd =
        callback("odd-name", json!({"type": "object", "properties": {"a b": {"description": "x */ y"}}}));
    odd.annotations = json!({"destructiveHint": true, "idempotentHint": false});
    let functions = Functions::of(&[odd, callback("svc__tree", node)]);
    let methods = functions.as_methods("agent", 1000);
    let short = functions.as_methods("agent", 10);
    assert!(short.contains("odd-name") && !short.contains("svc__tree"), "{short}");
    assert!(short.contains("// 1 more functions of Svc: searchTools"), "{short}");
    assert!(
        methods
            .contains("  \"odd-name\"(args: { \"a b\"?: unknown }): Promise<unknown>; // Does odd-name.\n"),
        "{methods}"
    );
    assert!(methods.contains("type SvcTreeArguments = { kids?: SvcTreeArguments[] };"), "{methods}");
    for text in [methods, functions.declarations(), functions.details(&["Svc.tree".into()]).unwrap()] {
        assert!(crate::strip::strip(&text).is_ok(), "{text}");
    }
    assert!(functions.declarations().contains("@hints destructiveHint=true idempotentHint=false"));
    let refused = functions.details(&["Svc.tree".into(), "Svc.three".into()]).unwrap_err();
    assert_eq!(refused, "there is no function Svc.three; the functions are\nAgent: odd_name\nSvc: tree\n");
    assert_eq!(functions.files()[1].0, "Agent/odd_name.d.ts");
    assert!(functions.listing().contains("Svc.tree: Does svc__tree.\n"));
}
