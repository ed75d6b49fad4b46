//! Workflows over plain tools, without a model.

use super::script::plain;
use super::*;

fn workflows() -> (tempfile::TempDir, Workflows) {
    let folder = tempfile::tempdir().unwrap();
    let cancel = Cancel::with(&Bell::default());
    let hands: Hands = Arc::new(|order, link| {
        link.before_turn()?;
        Ok(format!("{} said: {}", order.name, order.prompt))
    });
    let failing = Mutex::new(true);
    let tools: Tools = Arc::new(move |name, given, cancel| match name {
        "echo" => Ok(plain(&given["text"])),
        "once" if std::mem::replace(&mut *failing.lock().unwrap(), false) => Err("not yet".to_owned()),
        "once" => Ok("at last".to_owned()),
        "hang" => {
            let far = Instant::now() + Duration::from_secs(600);
            cancel.bell().wait(far, cancel, || None::<()>);
            Err("cancelled".to_owned())
        }
        _ => Err(format!("no {name}")),
    });
    let workflows = Workflows::new(
        folder.path(),
        Delegation::default(),
        &cancel,
        &Marks::default(),
        (Some(hands), Some(tools)),
    );
    (folder, workflows)
}

fn run(workflows: &Workflows, given: Value) -> Result<String, String> {
    workflows.start(serde_json::from_value(given).unwrap())
}

fn which(id: &str) -> Which {
    Which { id: id.into() }
}

#[test]
fn results_flow_from_step_to_step_and_items_keep_their_order() {
    let (_folder, workflows) = workflows();
    let steps = json!([
        {"id": "names", "tool": "echo", "arguments": {"text": "a\nb\nc\nd\ne\n"}},
        {"id": "look", "agent": "look at ${item} (${index})", "each": "${names}"},
        {"id": "never", "tool": "nothing", "when": "none"},
        {"id": "maybe", "tool": "nothing", "optional": true},
        {"id": "sum", "tool": "echo", "arguments": {"text": "${look.4}|${never}|${args.x}"}},
    ]);
    let told = run(&workflows, json!({"steps": steps, "args": {"x": 3}})).unwrap();
    assert_eq!(told, "wf-1.look.4 said: look at e (4)||3");
    assert_eq!(workflows.calls(), 3);
    assert!(!workflows.is_alive());
}

#[test]
fn a_failed_step_ends_the_run_which_is_taken_up_where_it_stopped() {
    let (_folder, workflows) = workflows();
    let steps = json!([
        {"id": "first", "agent": "work"},
        {"id": "second", "tool": "once", "needs": ["first"]},
        {"id": "third", "tool": "echo", "arguments": {"text": "${first} and ${second}"}},
    ]);
    let told = run(&workflows, json!({"steps": steps})).unwrap_err();
    assert!(told.starts_with("wf-1: step second failed: not yet."), "{told}");
    assert!(told.contains("resume = \"wf-1\""), "{told}");
    assert!(workflows.status(&which("wf-1")).unwrap().contains("- third: waiting"));
    let told = run(&workflows, json!({"resume": "wf-1"})).unwrap();
    assert_eq!(told, "wf-1.first said: work and at last");
    assert!(run(&workflows, json!({"resume": "wf-1"})).unwrap_err().contains("nothing left to do"));
    assert!(run(&workflows, json!({"resume": "wf-9"})).unwrap_err().contains("no run wf-9"));
}

#[test]
fn a_retry_hides_a_failure_that_passes() {
    let (_folder, workflows) = workflows();
    let steps = json!([{"id": "a", "tool": "once", "retries": 1}]);
    assert_eq!(run(&workflows, json!({"steps": steps})).unwrap(), "at last");
}

#[test]
fn a_run_beside_the_conversation_is_stopped_in_whatever_it_does() {
    let (_folder, workflows) = workflows();
    let steps = json!([{"id": "a", "tool": "hang"}, {"id": "b", "tool": "hang", "optional": true}]);
    assert_eq!(run(&workflows, json!({"steps": steps, "background": true})).unwrap(), "Started wf-1.");
    assert!(workflows.is_alive());
    let told = workflows.stop(&which("wf-1")).unwrap();
    assert!(told.starts_with("wf-1: failed: step a failed: "), "{told}");
    assert!(!workflows.is_alive());
}
