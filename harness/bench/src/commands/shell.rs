//! `bench completions` and `bench man`: for the shell and for readers, all made from the options themselves.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Command, CommandFactory as _};

use crate::exit::{Exit, Failure, OrExit};
use crate::options::{CompletionsOptions, ManOptions, Options};
use crate::say;

/// Prints a completion script.
pub(crate) fn completions(options: &CompletionsOptions) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Options::command(), "bench", &mut script);
    say::exact(&script);
    Ok(Exit::Good)
}

/// Prints the main manual page, writes all of them, or prints the reference page.
pub(crate) fn man(options: &ManOptions) -> Result<Exit, Failure> {
    if options.markdown {
        say::text(&reference_page());
        return Ok(Exit::Good);
    }
    let Some(dir) = &options.dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(built()).render(&mut page).or_exit(Exit::Ours)?;
        say::exact(&page);
        return Ok(Exit::Good);
    };
    write_pages(dir)
        .map_err(|e| anyhow::anyhow!("{}: {e}; name a folder that can be written", dir.display()))
        .or_exit(Exit::Usage)?;
    say::line(&format!("manual pages written to {0}; read one with: man -l {0}/bench.1", dir.display()));
    Ok(Exit::Good)
}

fn write_pages(dir: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    clap_mangen::generate_to(built(), dir)
}

fn built() -> Command {
    Options::command().disable_help_subcommand(true)
}

/// Every command with its help, as one Markdown page.
pub(crate) fn reference_page() -> String {
    let mut page = String::from(
        "# The command line\n\nGenerated from the options (`harness/bench/src/options.rs`) by `bench man --markdown`; do not edit. Exit codes:\n[exit-codes.md](../exit-codes.md). Keys of the experiment file: [experiment.md](experiment.md).\n",
    );
    let mut command = built().term_width(100);
    command.build();
    for subcommand in command.get_subcommands_mut() {
        let help = subcommand.render_help().to_string();
        let name = subcommand.get_name().to_owned();
        let _ = write!(page, "\n## bench {name}\n\n```text\n");
        for line in help.trim_end().lines() {
            let _ = writeln!(page, "{}", line.trim_end());
        }
        page.push_str("```\n");
    }
    page
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn the_reference_page_is_that_of_this_build() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/cli.md");
        let page = super::reference_page();
        if std::env::var_os("BENCH_UPDATE_DOCS").is_some() {
            std::fs::write(&path, &page).unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            written == page,
            "docs/reference/cli.md is out of date: run `BENCH_UPDATE_DOCS=1 cargo test -p bench --bins` and commit it"
        );
    }

    #[test]
    fn every_shell_and_every_command_is_served() {
        use clap::{CommandFactory as _, ValueEnum as _};
        for shell in clap_complete::Shell::value_variants() {
            let mut script = Vec::new();
            let mut command = crate::options::Options::command();
            clap_complete::generate(*shell, &mut command, "bench", &mut script);
            let script = String::from_utf8(script).unwrap();
            assert!(script.contains("surface") && script.contains("shard"), "{shell}");
        }
        let dir = tempfile::tempdir().unwrap();
        super::write_pages(dir.path()).unwrap();
        for command in super::built().get_subcommands() {
            assert!(dir.path().join(format!("bench-{}.1", command.get_name())).is_file());
        }
    }
}
