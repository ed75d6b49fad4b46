//! A tokenizer that cannot be made: the types and methods of the crate `tokenizers` that DeepSeek's prompt renderer names
//! for callers who bring one. Nothing here does: prompts are counted by the tokenizers of `bench-tokens`. No value of
//! [`Tokenizer`] exists, so no method below can be reached; the compiler sees to it.

use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;

/// A tokenizer; there is none.
#[derive(Debug, Clone)]
pub enum Tokenizer {}

/// What a tokenizer is made of; there is none.
#[derive(Debug, Clone)]
pub enum Model {}

/// Ids of a text; there are none.
#[derive(Debug, Clone)]
pub enum Encoding {}

/// A failure; there is none.
#[derive(Debug, Clone)]
pub enum Never {}

/// Tokens that are added to a vocabulary; always none.
#[derive(Debug, Clone, Default)]
pub struct AddedVocabulary {
    by_name: HashMap<String, u32>,
    by_id: HashMap<u32, Never>,
}

impl fmt::Display for Never {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

impl Deref for Tokenizer {
    type Target = Model;

    fn deref(&self) -> &Model {
        match *self {}
    }
}

impl Model {
    /// The token of an id.
    pub fn id_to_token(&self, _: u32) -> Option<String> {
        match *self {}
    }
}

impl Tokenizer {
    /// Text of ids.
    pub fn decode(&self, _: &[u32], _: bool) -> Result<String, Never> {
        match *self {}
    }

    /// Ids of a text.
    pub fn encode_fast(&self, _: &str, _: bool) -> Result<Encoding, Never> {
        match *self {}
    }

    /// Ids of several texts.
    pub fn encode_batch_fast(&self, _: Vec<&str>, _: bool) -> Result<Vec<Encoding>, Never> {
        match *self {}
    }

    /// The added tokens.
    pub fn get_added_vocabulary(&self) -> &AddedVocabulary {
        match *self {}
    }

    /// Takes other added tokens.
    pub fn with_added_vocabulary(&mut self, _: AddedVocabulary) -> &mut Self {
        match *self {}
    }
}

impl Encoding {
    /// The ids.
    pub fn get_ids(&self) -> &[u32] {
        match *self {}
    }

    /// Their number.
    #[allow(clippy::len_without_is_empty, reason = "the caller asks for no more")]
    pub fn len(&self) -> usize {
        match *self {}
    }
}

impl AddedVocabulary {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ids by name.
    pub fn get_vocab(&self) -> &HashMap<String, u32> {
        &self.by_name
    }

    /// Tokens by id.
    pub fn get_added_tokens_decoder(&self) -> &HashMap<u32, Never> {
        &self.by_id
    }
}
