//! Requests to the model: pure, so that the harness can ask what a surface would send without starting anything. One
//! conversation, written for each API that the agent speaks.

mod messages;
mod responses;

use std::sync::Arc;

use bench_core::experiment::{Capabilities, ModelSettings};
use bench_core::{Surface, WireKind};
use bench_wire::chat::{ChatRequestOut, MessageOut};
use bench_wire::{Call, Turn};

use crate::catalogue::ToolDefinition;
use crate::offer::Offer;
use crate::surface_check::SurfaceError;

/// What stays the same over a conversation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// Model id.
    pub model: &'a str,
    /// Sent where they are set.
    pub settings: &'a ModelSettings,
    /// What the model can do beyond plain calls of tools.
    pub capabilities: &'a Capabilities,
    /// The API that is spoken.
    pub wire: WireKind,
}

/// A part of the conversation after the instructions.
#[derive(Debug, Clone)]
pub(crate) enum Said {
    /// By the user, or in his place.
    User(String),
    /// By the model.
    Model(Turn),
    /// The result of a call.
    Result {
        call: Call,
        text: String,
        /// Definitions that this result makes callable, on a wire that can.
        schemas: Vec<Arc<ToolDefinition>>,
    },
}

/// What one request shows: the instructions, the conversation, and the tools unless it asks for a summary.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown<'a> {
    pub system: &'a str,
    pub said: &'a [Said],
    pub offer: Option<&'a Offer>,
}

impl Asked<'_> {
    /// The body of a request.
    pub(crate) fn request(&self, shown: &Shown<'_>) -> Vec<u8> {
        match self.wire {
            WireKind::OpenaiChat | WireKind::Gemini => self.chat(shown),
            WireKind::OpenaiResponses => responses::body(self, shown),
            WireKind::AnthropicMessages => messages::body(self, shown),
        }
    }

    fn chat(&self, shown: &Shown<'_>) -> Vec<u8> {
        let mut messages = vec![MessageOut::system(shown.system)];
        messages.extend(shown.said.iter().map(|said| match said {
            Said::User(text) => MessageOut::user(text),
            Said::Model(turn) => MessageOut::assistant(turn),
            Said::Result { call, text, .. } => MessageOut::tool(&call.id, text),
        }));
        let tools = shown.offer.map(Offer::tools).unwrap_or_default();
        ChatRequestOut {
            model: self.model.to_owned(),
            messages,
            tools: tools.iter().map(|tool| tool.in_chat()).collect(),
            parallel_tool_calls: self.capabilities.parallel_tool_calls.filter(|_| !tools.is_empty()),
            temperature: self.settings.temperature,
            max_tokens: self.settings.max_output_tokens,
            seed: self.settings.sampling_seed,
            reasoning_effort: self.settings.thinking.clone(),
            stream: true,
        }
        .to_bytes()
    }
}

/// The exact body of the first request that the agent sends on this surface over chat completions, with a model that can
/// do nothing beyond plain calls of tools. Fails on a surface that cannot be shown.
pub fn first_request(
    surface: &Surface,
    model: &str,
    settings: &ModelSettings,
    instruction: &str,
    cwd: &str,
) -> Result<Vec<u8>, SurfaceError> {
    let (capabilities, wire) = (&Capabilities::default(), WireKind::OpenaiChat);
    let mut offer = Offer::of(surface, capabilities, wire)?;
    offer.preload(surface, instruction);
    let system = offer.system_text(cwd);
    let mut said = vec![Said::User(instruction.to_owned())];
    said.extend(offer.code().and_then(|code| code.mode.each_turn.clone()).map(Said::User));
    let shown = Shown { system: &system, said: &said, offer: Some(&offer) };
    Ok(Asked { model, settings, capabilities, wire }.request(&shown))
}
