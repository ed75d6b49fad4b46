//! What is counted and digested of a request while it is already on its way: none of it decides whether the request may go,
//! so the agent does not wait for it. Only caps in tokens or dollars do, and an upstream that states local counts.

use std::sync::Arc;
use std::time::Duration;

use bench_core::Sha256Hex;
use bench_tokens::Counter;
use bench_wire::ModelRequest;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, oneshot};

use crate::ledger::{Prefix, Sent, second_count, semantic_sha256};

/// Requests that are weighed at once, over all recorders of the process: the tokenizer keeps a cache of more than a megabyte
/// for every thread that counts, and nobody waits for a weight while the model answers.
pub(crate) static WEIGHERS: Semaphore = Semaphore::const_new(2);

/// How long weighing waits for the first word of the model, which it would otherwise delay: on a small machine there is one
/// processor for the agent, the recorder and what lies between.
pub(crate) const HEAD_START: Duration = Duration::from_millis(2);

/// Tokens of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Weight {
    /// Of its body's JSON.
    pub(crate) body_tokens: u64,
    /// Of the prompt that the model is given, where a renderer of the provider's own knows it.
    pub(crate) prompt_tokens: Option<u64>,
}

impl Weight {
    /// The best that is known here of what the model reads.
    pub(crate) fn input_tokens(self) -> u64 {
        self.prompt_tokens.unwrap_or(self.body_tokens)
    }
}

/// A request that is to be weighed.
pub(crate) struct Load {
    pub(crate) chat: Arc<ModelRequest>,
    /// Its body with its content codings undone.
    pub(crate) content: Bytes,
    /// As it came.
    pub(crate) body: Bytes,
    /// Known already where a cap asked for it, with why its prompt could not be rendered.
    pub(crate) weight: Option<(Weight, Option<String>)>,
    /// Does a second tokenizer count it as well?
    pub(crate) twice: bool,
    /// What this turn sends and what the one before sent; none for what is no turn.
    pub(crate) sent: Option<(Arc<Sent>, Option<Arc<Sent>>)>,
}

/// What was found of it.
#[derive(Debug, Clone)]
pub(crate) struct Weighed {
    pub(crate) weight: Weight,
    /// Tokens of its body by the second tokenizer; none = not counted.
    pub(crate) second_body_tokens: Option<u64>,
    pub(crate) semantic: Sha256Hex,
    pub(crate) body_sha256: Sha256Hex,
    pub(crate) prefix: Prefix,
    /// Why the model's prompt is not known although its format is.
    pub(crate) unrendered: Option<String>,
}

/// Tokens of a request, and why its prompt could not be rendered.
pub(crate) fn weight(counter: &Counter, chat: &ModelRequest, content: &[u8]) -> (Weight, Option<String>) {
    // A body that was read is JSON, and JSON is UTF-8.
    let body_tokens = std::str::from_utf8(content).map_or(0, |text| counter.count(text));
    match counter.prompt(chat.api, &chat.model, content) {
        Ok(prompt_tokens) => (Weight { body_tokens, prompt_tokens }, None),
        Err(error) => (Weight { body_tokens, prompt_tokens: None }, Some(error.to_string())),
    }
}

/// A request that is being weighed, or will be.
pub(crate) struct Weighing {
    sent: Option<oneshot::Sender<()>>,
    told: oneshot::Receiver<Weighed>,
}

impl Weighing {
    /// The request has been answered: nothing is held up any more.
    pub(crate) fn may_begin(&mut self) {
        if let Some(sent) = self.sent.take() {
            // It began already.
            let _ = sent.send(());
        }
    }

    /// What was found.
    pub(crate) async fn found(mut self) -> Weighed {
        self.may_begin();
        self.told.await.expect("weighing a request ends, whatever the request holds")
    }
}

impl Load {
    /// Weighs it on a thread of its own, once it is on its way and a thread is free.
    pub(crate) fn weighed_later(self, counter: Arc<Counter>) -> Weighing {
        let (sent, is_sent) = oneshot::channel::<()>();
        let (tell, told) = oneshot::channel();
        tokio::spawn(async move {
            // Until then it would take the processor from the request itself; nobody sending it any more is as good.
            let _ = tokio::time::timeout(HEAD_START, is_sent).await;
            let turn = WEIGHERS.acquire().await.expect("nobody closes it");
            tokio::task::spawn_blocking(move || {
                // Whoever gave it up does not want to know.
                let _ = tell.send(self.weigh(&counter));
                // Taking a large request apart again takes as long as reading it; nobody waits for that.
                drop((self, turn));
            });
        });
        Weighing { sent: Some(sent), told }
    }

    pub(crate) fn weigh(&self, counter: &Counter) -> Weighed {
        let known = self.weight.clone();
        let (weight, unrendered) = known.unwrap_or_else(|| weight(counter, &self.chat, &self.content));
        let prefix =
            self.sent.as_ref().map(|(sent, before)| sent.after(before.as_deref())).unwrap_or_default();
        let body_sha256 = Sha256Hex::of(&self.body);
        let second = self.twice.then(|| second_count(counter, &body_sha256, &self.content));
        Weighed {
            weight,
            second_body_tokens: second.flatten(),
            unrendered,
            prefix,
            semantic: semantic_sha256(&self.chat),
            body_sha256,
        }
    }
}
