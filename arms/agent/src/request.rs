//! Requests to the model: pure, so that the harness can ask what a surface would send without starting anything.

use bench_core::Surface;
use bench_core::experiment::ModelSettings;
use bench_wire::chat::{ChatRequestOut, MessageOut};

use crate::offer::Offer;
use crate::surface_check::SurfaceError;

/// What stays the same over a conversation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// Model id.
    pub model: &'a str,
    /// Sent where they are set.
    pub settings: &'a ModelSettings,
}

impl Asked<'_> {
    /// A request with this offer and these messages.
    pub(crate) fn request(&self, offer: &Offer, messages: &[MessageOut]) -> Vec<u8> {
        ChatRequestOut {
            model: self.model.to_owned(),
            messages: messages.to_vec(),
            tools: offer.tools(),
            parallel_tool_calls: None,
            temperature: self.settings.temperature,
            max_tokens: self.settings.max_output_tokens,
            seed: self.settings.sampling_seed,
            reasoning_effort: self.settings.thinking.clone(),
            stream: true,
        }
        .to_bytes()
    }
}

/// The messages with which a conversation begins.
pub(crate) fn opening(offer: &Offer, instruction: &str, cwd: &str) -> Vec<MessageOut> {
    vec![MessageOut::system(&offer.system_text(cwd)), MessageOut::user(instruction)]
}

/// The exact body of the first request that the agent sends on this surface. Fails on a surface that cannot be shown.
pub fn first_request(
    surface: &Surface,
    model: &str,
    settings: &ModelSettings,
    instruction: &str,
    cwd: &str,
) -> Result<Vec<u8>, SurfaceError> {
    let offer = Offer::of(surface)?;
    Ok(Asked { model, settings }.request(&offer, &opening(&offer, instruction, cwd)))
}
