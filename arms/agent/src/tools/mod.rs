//! The tools themselves: arguments that fit the schema in, text out. An `Err` is the reason why the call failed, told
//! to the model. Results hold no time, process id or made-up name.

mod bash;
mod cut;
mod edit;
mod fd;
mod place;
mod read;
mod rg;
mod walk;
mod write;

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Runs a tool whose arguments have been checked against its schema.
pub(crate) fn run(name: &str, given: Value, workspace: &Path) -> Result<String, String> {
    match name {
        "read" => read::run(&taken(given)?, workspace),
        "bash" => bash::run(&taken(given)?, workspace),
        "edit" => edit::run(&taken(given)?, workspace),
        "write" => write::run(&taken(given)?, workspace),
        "fd" => fd::run(&taken(given)?, workspace),
        "rg" => rg::run(&taken(given)?, workspace),
        other => Err(format!("{other} is not available in this build")),
    }
}

fn taken<T: DeserializeOwned>(given: Value) -> Result<T, String> {
    serde_json::from_value(given).map_err(|error| error.to_string())
}
