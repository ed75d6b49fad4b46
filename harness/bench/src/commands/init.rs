//! `bench init` and `bench schema`: the experiment file to start from, and its JSON schema.

use std::path::PathBuf;

use crate::exit::{Exit, Failure, OrExit, fail};
use crate::options::InitOptions;
use crate::say;

/// Writes a commented experiment file.
pub(crate) fn init(options: &InitOptions) -> Result<Exit, Failure> {
    let file = options.file.clone().unwrap_or_else(|| PathBuf::from("experiment.toml"));
    if file.as_os_str() == "-" {
        say::raw(bench_config::TEMPLATE.as_bytes());
        return Ok(Exit::Good);
    }
    if file.exists() && !options.force {
        return fail(
            Exit::Usage,
            format!("{} exists; name another file, or overwrite it with --force", file.display()),
        );
    }
    std::fs::write(&file, bench_config::TEMPLATE)
        .map_err(|e| anyhow::anyhow!("{}: {e}; name a file that can be written", file.display()))
        .or_exit(Exit::Usage)?;
    say::line(&format!("{} written; next: bench plan {0}, then bench run {0}", file.display()));
    Ok(Exit::Good)
}

/// Prints the JSON schema of the experiment file.
pub(crate) fn schema() -> Result<Exit, Failure> {
    say::raw(bench_config::schema().as_bytes());
    Ok(Exit::Good)
}
