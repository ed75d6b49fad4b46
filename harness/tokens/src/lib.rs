//! Tokenizers: counts with their basis.
