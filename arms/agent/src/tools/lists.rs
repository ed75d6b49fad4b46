//! `todo` and `tasks_add`, `tasks_update`, `tasks_list`: steps that the model keeps. The answer is the list as it stands.

use serde::Deserialize;

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum StepState {
    Open,
    Doing,
    Done,
    Dropped,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListedStep {
    text: String,
    detail: Option<String>,
    state: StepState,
}

/// Arguments of `todo`.
#[derive(Debug, Deserialize)]
pub(super) struct Todo {
    items: Vec<TodoItem>,
}

#[derive(Debug, Deserialize)]
struct TodoItem {
    step: String,
    state: StepState,
}

/// Arguments of `tasks_add`.
#[derive(Debug, Deserialize)]
pub(super) struct Add {
    items: Vec<AddItem>,
}

#[derive(Debug, Deserialize)]
struct AddItem {
    subject: String,
    detail: Option<String>,
}

/// Arguments of `tasks_update`.
#[derive(Debug, Deserialize)]
pub(super) struct Update {
    items: Vec<UpdateItem>,
}

#[derive(Debug, Deserialize)]
struct UpdateItem {
    number: usize,
    state: StepState,
}

pub(super) fn todo(list: &mut Vec<ListedStep>, given: Todo) -> Result<String, String> {
    let doing = given.items.iter().filter(|item| item.state == StepState::Doing).count();
    if doing > 1 {
        return Err(format!("{doing} steps are in progress; at most one can be"));
    }
    let step = |item: TodoItem| ListedStep { text: item.step, detail: None, state: item.state };
    *list = given.items.into_iter().map(step).collect();
    Ok(shown(list))
}

pub(super) fn add(list: &mut Vec<ListedStep>, given: Add) -> String {
    list.extend(given.items.into_iter().map(|item| ListedStep {
        text: item.subject,
        detail: item.detail,
        state: StepState::Open,
    }));
    shown(list)
}

pub(super) fn update(list: &mut [ListedStep], given: &Update) -> Result<String, String> {
    if let Some(item) = given.items.iter().find(|item| item.number > list.len()) {
        return Err(format!("there is no step {}; the list has {}", item.number, list.len()));
    }
    for item in &given.items {
        list[item.number - 1].state = item.state;
    }
    Ok(shown(list))
}

pub(super) fn shown(list: &[ListedStep]) -> String {
    if list.is_empty() {
        return "[The list is empty.]".to_owned();
    }
    let line = |(number, step): (usize, &ListedStep)| {
        let mark = match step.state {
            StepState::Open => " ",
            StepState::Doing => ">",
            StepState::Done => "x",
            StepState::Dropped => "-",
        };
        let detail = step.detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default();
        format!("{number}. [{mark}] {}{detail}\n", step.text)
    };
    (1..).zip(list).map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_are_kept_and_shown() {
        let mut list = Vec::new();
        let given = json!({"items": [{"subject": "a", "detail": "d"}, {"subject": "b"}]});
        assert_eq!(add(&mut list, serde_json::from_value(given).unwrap()), "1. [ ] a (d)\n2. [ ] b\n");
        let given = |number: usize| Update { items: vec![UpdateItem { number, state: StepState::Done }] };
        assert_eq!(update(&mut list, &given(2)).unwrap(), "1. [ ] a (d)\n2. [x] b\n");
        assert_eq!(update(&mut list, &given(3)).unwrap_err(), "there is no step 3; the list has 2");
        let two = json!({"items": [{"step": "a", "state": "doing"}, {"step": "b", "state": "doing"}]});
        assert!(todo(&mut list, serde_json::from_value(two).unwrap()).unwrap_err().contains("at most one"));
        assert_eq!(todo(&mut list, Todo { items: Vec::new() }).unwrap(), "[The list is empty.]");
    }
}
