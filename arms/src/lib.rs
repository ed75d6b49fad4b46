//! Arms as data and the adapters that start agents.
