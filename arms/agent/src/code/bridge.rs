//! The way of a nested call into the pipeline: the same check of arguments, the same tools, counts and order as for a call
//! of the model's own. What comes back is what the model might see, as a value.

use std::collections::BTreeMap;
use std::sync::Arc;

use bench_code::{Bridge, NestedCall, Stop, value_for_code};
use serde_json::Value;

use crate::answer::by_conversation;
use crate::arguments;
use crate::catalogue::ToolDefinition;
use crate::pipeline::{Origin, Pipeline, Reach};
use crate::servers;

/// Carries out the calls of one script.
#[derive(Debug)]
pub(super) struct ThroughPipeline {
    pub(super) pipeline: Arc<Pipeline>,
    /// What the script can call.
    pub(super) tools: BTreeMap<String, Arc<ToolDefinition>>,
    /// Most bytes of one value.
    pub(super) nested_bytes: usize,
}

impl Bridge for ThroughPipeline {
    fn call(&self, call: &NestedCall, stop: &Stop) -> Result<Value, String> {
        let name = call.tool.as_str();
        let tool = self.tools.get(name).ok_or_else(|| format!("code cannot call {name}"))?;
        arguments::check(tool, &call.arguments)?;
        if by_conversation(name) {
            return Err(format!("{name} concerns the conversation and cannot be called by code"));
        }
        if servers::of_tool(name).is_some() {
            self.pipeline.tally().reached(name, Origin::Code);
            return Ok(value_for_code(&servers::answer(name, &call.arguments)));
        }
        let reach = Reach { tool: name.to_owned(), given: call.arguments.clone(), origin: Origin::Code };
        let text = self.pipeline.reach_until(reach, Some(stop))?;
        if text.len() > self.nested_bytes {
            let kept = text.floor_char_boundary(self.nested_bytes);
            let note = format!("\n[{} bytes left out]", text.len() - kept);
            return Ok(Value::String(format!("{}{note}", &text[..kept])));
        }
        Ok(value_for_code(&Value::String(text)))
    }
}
