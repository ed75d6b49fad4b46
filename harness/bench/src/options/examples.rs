//! Examples under every `--help`. Each line that begins with `bench` is a command that this build accepts (a test asks
//! the parser); what stands behind two blanks or more says what it does.

pub(super) const RUN: &str = "Examples:
  bench run                          the built-in four-arm ablation, no key, no network
  bench run examples/red-gate.toml   a red gate, exit code 1
  bench run my.toml --new            another run, even if one is unfinished
  bench run my.toml -j 4 --yes       four blocks at a time, without being asked what it may cost
  bench run my.toml --set repeats=4 --set arm.gateway.surface=search
  bench run my.toml --arm bare --arm gateway --task report-by-region
  bench run my.toml --shard 2/3 -o shard-2   the second of three machines; then bench merge

The same command continues a run that was stopped or killed. Ctrl-C finishes the cells in flight first.";

pub(super) const PLAN: &str = "Examples:
  bench plan                  the built-in ablation
  bench plan my.toml          order, cost, and what cannot be shown by this many tasks
  bench plan my.toml --set repeats=8 --json";

pub(super) const SURFACE: &str = "Examples:
  bench surface                 the built-in arms as a table
  bench surface my.toml --json  for other programs
  bench surface my.toml --diff bare gateway
  bench surface --mcp 'npx some-mcp-server .'               what its tools would add
  bench surface my.toml --check surface.lock --write        once, then in CI:
  bench surface my.toml --check surface.lock --max-ratio 1.25";

pub(super) const REPORT: &str = "Examples:
  bench report                        the newest run below runs/
  bench report runs/X --markdown      for a pull request
  bench report runs/X --check README.md   exit code 6 when the published table is stale";

pub(super) const GATE: &str = "Examples:
  bench gate                                  the newest run below runs/
  bench gate runs/NEW -q                      the exit code alone
  bench gate runs/NEW --against runs/OLD      same arms over time
  bench gate runs/NEW --against base.json     exit code 3 while the baseline is collecting
  bench gate runs/NEW --against base.json --add   judge, then append this run to it";

pub(super) const COMPARE: &str = "Examples:
  bench compare runs/OLD runs/NEW";

pub(super) const SHOW: &str = "Examples:
  bench show runs/X                           every cell; a run in progress is followed live
  bench show runs/X --follow                  the same into a file, one line per cell
  bench show runs/X fix-report/r01/bare
  bench show runs/X fix-report/r01/bare --why
  bench show runs/X fix-report/r01/bare --request 1 --raw";

pub(super) const MERGE: &str = "Examples:
  bench merge shard-1 shard-2 shard-3 -o runs/whole   then bench gate runs/whole

Shards are parts of one run (bench run --shard i/n): locks that differ are refused. Cells that no shard has settled can
be run afterwards: bench run my.toml -o runs/whole";

pub(super) const IMPORT: &str = "Examples:
  bench import examples/import/seed-9-against-2.csv --control bare -o runs/seed
  bench import job-a job-b --control job-a   two Harbor job folders, one arm each";

pub(super) const POWER: &str = "Examples:
  bench power --tasks 40 --sd 0.3
  bench power --run runs/X        with the spread that a run showed";

pub(super) const CALIBRATE: &str = "Examples:
  bench calibrate runs/X --draws 5000";

pub(super) const VERIFY: &str = "Examples:
  bench verify                              the default suite
  bench verify mine --suites path/to/suites
  bench verify default --task report-by-region";

pub(super) const INIT: &str = "Examples:
  bench init                            experiment.toml: two arms, every key commented
  bench init --kind surface-only        what tools cost, before anything runs
  bench init my.toml --kind four-arm    my.toml and my-smoke.toml, with a real model
  bench init --kind real-agents
  bench init ci.toml --kind ci          and .github/workflows/bench.yml

experiment.schema.json is written beside it: editors complete and check the file by it.";

pub(super) const SCHEMA: &str = "Examples:
  bench schema
  bench schema analysis     the schema of report/analysis.json";

pub(super) const DOCTOR: &str = "Examples:
  bench doctor              this machine
  bench doctor my.toml      and whether it can run this experiment: key, agents, isolation level
  bench doctor --json";

pub(super) const AGENTS: &str = "Examples:
  bench agents                      which are here, with their versions
  bench agents check pi codex       exit code 2 where one cannot be started
  bench agents install pi --yes     runs the npm lines that it prints";

pub(super) const TASK: &str = "Examples:
  bench task new mine/first         tasks/suites/mine/first, a task that holds
  bench verify mine                 after each change";

pub(super) const PACK: &str = "Examples:
  bench pack runs/X                     X.tar.gz: lock, journal and report, redacted
  bench pack runs/X --evidence -o x.tar.gz --redact acme-internal";

pub(super) const CLEAN: &str = "Examples:
  bench clean                           lists every run with its size; removes nothing
  bench clean --evidence --keep 3       numbers stay, traces of all but the newest three go
  bench clean --delete runs/X --yes";

pub(super) const COMPLETIONS: &str = "Examples:
  bench completions bash      for ~/.local/share/bash-completion/completions/bench
  bench completions zsh       for a file called _bench on your fpath
  bench completions fish      for ~/.config/fish/completions/bench.fish";

pub(super) const MAN: &str = "Examples:
  bench man                   the main page, for man -l -
  bench man man/man1          a page for every command
  bench man --markdown        docs/reference/cli.md";

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use crate::options::Options;

    /// Words of a command line; single quotes keep blanks together, two blanks end it.
    fn words(line: &str) -> Vec<String> {
        let command = line.split("  ").next().unwrap_or_default();
        let mut words = Vec::new();
        for (index, part) in command.split('\'').enumerate() {
            match index % 2 {
                0 => words.extend(part.split_whitespace().map(str::to_owned)),
                _ => words.push(part.to_owned()),
            }
        }
        words
    }

    #[test]
    fn every_command_has_examples_and_each_of_them_is_accepted() {
        for command in Options::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let lines: Vec<&str> =
                help.lines().map(str::trim).filter(|line| line.starts_with("bench ")).collect();
            assert!(!lines.is_empty(), "bench {} --help has no example", command.get_name());
            for line in lines {
                let parsed = Options::try_parse_from(words(line));
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            }
        }
    }

    #[test]
    fn the_options_are_consistent() {
        Options::command().debug_assert();
        for command in Options::command().get_subcommands() {
            for arg in command.get_arguments() {
                let short = match arg.get_id().as_str() {
                    "jobs" => 'j',
                    "output" => 'o',
                    "quiet" => 'q',
                    "yes" => 'y',
                    _ => continue,
                };
                assert_eq!(arg.get_short(), Some(short), "bench {}: --{}", command.get_name(), arg.get_id());
            }
        }
    }
}
