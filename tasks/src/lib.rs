//! Task format, verifier.
