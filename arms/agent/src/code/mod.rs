//! Code mode of a conversation: what a shape shows of the bridged tools, and the scripts that the model hands over. How a
//! script is run is the engine's business ([`bench_code`]); how a call is carried out is the pipeline's, whoever made it.

mod bridge;
mod graph;
mod scripts;
mod shell;
mod shown;

pub(crate) use graph::Graph;
pub(crate) use scripts::{CodeCall, Scripts};
pub(crate) use shell::execute as look;
pub(crate) use shown::{Bridged, CodeOffer, OWN};

use bench_code::Launch;

/// How the worker is started.
fn launch() -> Launch {
    #[cfg(test)]
    {
        tests::launch()
    }
    #[cfg(not(test))]
    {
        // The hidden subcommand by which this program is the worker.
        Launch::own("code-worker")
    }
}

/// Keeps the word and the value apart in what a call gives.
fn joined(parts: &[&str]) -> String {
    let mut text = String::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(part);
    }
    text
}

#[cfg(test)]
pub(crate) mod tests;
