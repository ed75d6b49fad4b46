//! The one door to a model: loopback recorder, upstreams, oracle.
