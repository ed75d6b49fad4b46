//! Schedule to attempts to journal.
