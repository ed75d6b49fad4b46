//! One module a command; each reads like what it does.

pub(crate) mod doctor;
pub(crate) mod host;
pub(crate) mod init;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod show;
pub(crate) mod surface;
mod surface_check;
mod surface_mcp;
pub(crate) mod verify;
