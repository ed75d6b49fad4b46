//! Files to a checked Experiment, every error with file, line and key.
