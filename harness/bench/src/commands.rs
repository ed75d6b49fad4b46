//! One module a command; each reads like what it does.

pub(crate) mod agents;
pub(crate) mod calibrate;
pub(crate) mod clean;
pub(crate) mod compare;
pub(crate) mod doctor;
pub(crate) mod gate;
pub(crate) mod host;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod merge;
pub(crate) mod pack;
pub(crate) mod plan;
pub(crate) mod power;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod shell;
pub(crate) mod show;
pub(crate) mod surface;
mod surface_check;
mod surface_mcp;
pub(crate) mod task;
pub(crate) mod verify;
