//! `bench`: does this tool surface cost more than it is worth, for this model, on these tasks?
//!
//! Options in, exit code out. Hidden subcommands, which live behind the walls, are dispatched before options are read
//! and before any runtime or thread exists.

mod commands;
mod estimate;
mod exit;
mod front;
mod means;
mod options;
mod place;
mod progress;
mod redaction;
mod say;
mod source;

use std::process::ExitCode;

use clap::Parser as _;

use crate::exit::Failure;
use crate::options::{Command, Options};

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next().as_deref().and_then(|first| first.to_str()) {
        Some("sandbox-exec") => return bench_isolation::sandbox_exec_main(),
        Some("agent") => return bench_agent::agent_main(args),
        Some("code-worker") => return bench_agent::code_worker_main(),
        Some(_) | None => {}
    }
    let options =
        Options::try_parse().unwrap_or_else(|error| options::with_the_word_that_was_meant(error).exit());
    match dispatch(&options.command) {
        Ok(exit) => exit.into(),
        Err(failure) => report(&failure),
    }
}

fn dispatch(command: &Command) -> Result<exit::Exit, Failure> {
    match command {
        Command::Run(options) => commands::run::run(options),
        Command::Plan(options) => commands::plan::plan(options),
        Command::Surface(options) => commands::surface::surface(options),
        Command::Report(options) => commands::report::report(options),
        Command::Gate(options) => commands::gate::gate(options),
        Command::Compare(options) => commands::compare::compare(options),
        Command::Import(options) => commands::import::import(options),
        Command::Power(options) => commands::power::power(options),
        Command::Calibrate(options) => commands::calibrate::calibrate(options),
        Command::Show(options) => commands::show::show(options),
        Command::Verify(options) => commands::verify::verify(options),
        Command::Init(options) => commands::init::init(options),
        Command::Schema(options) => commands::init::schema(options),
        Command::Doctor(options) => commands::doctor::doctor(options),
        Command::Agents(options) => commands::agents::agents(options),
        Command::Task(options) => commands::task::task(options),
        Command::Merge(options) => commands::merge::merge(options),
        Command::Pack(options) => commands::pack::pack(options),
        Command::Clean(options) => commands::clean::clean(options),
        Command::Completions(options) => commands::shell::completions(options),
        Command::Man(options) => commands::shell::man(options),
    }
}

fn report(failure: &Failure) -> ExitCode {
    say::complain(&format!("error: {}", failure.words()));
    failure.exit.into()
}
