//! The model APIs as they are on the wire: read, write, stream.
