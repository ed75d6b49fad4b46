//! Tools mounted on paths: reading a path shows the tool's schema, writing arguments to it calls the tool. The declared
//! tools never change; what is mounted stands in the description of the tool that writes.

use bench_core::{ModelExposure, Surface};
use serde_json::Value;

use crate::catalogue::ToolDefinition;

/// Beginning of a device's path.
pub(crate) const SCHEME: &str = "dev://";

/// What a call of `read` or `write` asks of a device.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum DeviceCall {
    /// What is mounted?
    List,
    /// The schema of one.
    Schema(String),
    /// Call one with these arguments.
    Call(String, Result<Value, String>),
}

/// The device that a call means; `None` when it means a file.
pub(crate) fn asked(tool: &str, given: &Value) -> Option<DeviceCall> {
    let name = given.get("path")?.as_str()?.strip_prefix(SCHEME)?.to_owned();
    match tool {
        "read" if name.is_empty() => Some(DeviceCall::List),
        "read" => Some(DeviceCall::Schema(name)),
        "write" => {
            let text = given.get("content").and_then(Value::as_str).unwrap_or_default();
            let arguments =
                serde_json::from_str(text).map_err(|error| format!("content is not JSON: {error}"));
            Some(DeviceCall::Call(name, arguments))
        }
        _ => None,
    }
}

/// Tells of the devices in the descriptions of the tools that reach them.
pub(crate) fn describe(definition: &mut ToolDefinition, surface: &Surface) {
    let deferred = surface.tools.iter().filter(|tool| tool.model == ModelExposure::Deferred);
    let paths: Vec<String> = deferred.map(|tool| format!("{SCHEME}{}", tool.name)).collect();
    match definition.name.as_str() {
        "read" => definition.description.push_str(&format!(
            " Paths that begin with {SCHEME} are tools: {SCHEME} lists them, {SCHEME}NAME shows the schema of one."
        )),
        "write" => definition.description.push_str(&format!(
            " Writing the arguments of a tool as JSON to its path calls it and returns its result: {}.",
            paths.join(", ")
        )),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_of_devices_are_told_from_files() {
        assert_eq!(asked("read", &json!({"path": "dev://"})), Some(DeviceCall::List));
        assert_eq!(asked("read", &json!({"path": "dev://fd"})), Some(DeviceCall::Schema("fd".into())));
        assert_eq!(asked("read", &json!({"path": "a/dev"})), None);
        assert_eq!(asked("edit", &json!({"path": "dev://fd"})), None);
        let call = asked("write", &json!({"path": "dev://fd", "content": "{\"glob\":true}"}));
        assert_eq!(call, Some(DeviceCall::Call("fd".into(), Ok(json!({"glob": true})))));
        let broken = asked("write", &json!({"path": "dev://fd", "content": "x"}));
        assert!(matches!(broken, Some(DeviceCall::Call(_, Err(_)))));
    }
}
