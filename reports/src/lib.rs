//! Pairing, analysis, gates, rendering: from the journal alone.
