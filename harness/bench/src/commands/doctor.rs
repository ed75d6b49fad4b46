//! `bench doctor`: what this machine can do, what is missing, and what to do about it. With an experiment file: whether it
//! can be run here, before anything is started.

use std::fmt::Write as _;
use std::path::Path;

use bench_arms::Catalog;
use bench_core::IsolationLevel;
use bench_isolation::Reachable;
use bench_tasks::list_suites;
use serde_json::json;

use crate::commands::host;
use crate::exit::{Exit, Failure, OrExit};
use crate::means::check_upstream;
use crate::options::{DoctorOptions, PlaceOptions};
use crate::source::{ExperimentText, Source};
use crate::{front, say};

/// One thing that was looked at.
struct Finding {
    mark: Mark,
    what: String,
    found: String,
    /// What to do, one line each; commands can be copied.
    remedy: Vec<String>,
}

/// What a finding means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// It works.
    Good,
    /// It does not, and not everything needs it.
    Absent,
    /// It does not, and it is needed.
    Bad,
}

impl Mark {
    fn word(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Absent => "-",
            Self::Bad => "!!",
        }
    }
}

/// Looks at the machine, and at what an experiment needs.
pub(crate) fn doctor(options: &DoctorOptions) -> Result<Exit, Failure> {
    let state_dir = front::state_dir(options.places.state_dir.as_deref());
    if options.fix {
        return host::fix(&state_dir);
    }
    if options.undo {
        return host::undo(&state_dir);
    }
    let reachable = bench_isolation::reachable();
    let mut findings = levels(&reachable);
    findings.extend(agents(&options.places)?);
    findings.extend(suites(&options.places));
    findings.push(state(&state_dir));
    let (needed, exit) = match &options.file {
        None => (Vec::new(), Exit::Good),
        Some(file) => experiment(file, options, &reachable),
    };
    match options.json {
        true => say::line(&format!("{:#}", sheet(options, &reachable, &state_dir, &needed)?)),
        false => print(&findings, &needed, &reachable),
    }
    Ok(exit)
}

fn print(findings: &[Finding], needed: &[Finding], reachable: &Reachable) {
    let mut text = format!("bench {}, kernel {}\n\n", front::harness().version, front::kernel());
    let width = findings.iter().chain(needed).map(|finding| finding.what.chars().count()).max().unwrap_or(0);
    findings.iter().for_each(|finding| tell(&mut text, finding, width));
    let _ =
        writeln!(text, "\nisolation: {} on this machine; missing, as every report says:", reachable.level);
    for gap in &reachable.missing {
        let _ = writeln!(text, "    {gap}");
    }
    let _ = writeln!(text, "\ncontrol groups of cells:");
    for group in &reachable.control_groups {
        let _ = writeln!(text, "    {group}");
    }
    let _ = writeln!(text, "tokenizers: {}", bench_proxy::TOKENIZERS.join(", "));
    if !needed.is_empty() {
        let _ = writeln!(text, "\nthis experiment:");
        needed.iter().for_each(|finding| tell(&mut text, finding, width));
    }
    say::text(&text);
}

fn tell(text: &mut String, finding: &Finding, width: usize) {
    let _ = writeln!(text, "{:<3} {:<width$} {}", finding.mark.word(), finding.what, finding.found);
    for line in &finding.remedy {
        let _ = writeln!(text, "    {:<width$} {line}", "");
    }
}

fn finding(mark: Mark, what: impl Into<String>, found: impl Into<String>, remedy: Vec<String>) -> Finding {
    Finding { mark, what: what.into(), found: found.into(), remedy }
}

/// What can be run at which level.
fn levels(reachable: &Reachable) -> Vec<Finding> {
    let remedy: Vec<String> = reachable.remedy.iter().cloned().collect();
    let abi = reachable.landlock_abi.map_or("no Landlock".to_owned(), |abi| format!("Landlock ABI {abi}"));
    let rows = [
        (IsolationLevel::L1, "oracle and replay", "from level L1", Mark::Bad),
        (IsolationLevel::L2, "real models", "from level L2", Mark::Bad),
        (IsolationLevel::L3, "kernel audit", "level L3, optional", Mark::Absent),
    ];
    let mut findings: Vec<Finding> = rows
        .into_iter()
        .map(|(level, what, words, otherwise)| match reachable.level >= level {
            true => finding(Mark::Good, what, format!("{words}: reached ({abi})"), Vec::new()),
            false => finding(otherwise, what, format!("{words}: not reached"), Vec::new()),
        })
        .collect();
    // The remedy is told once, at the first level that is not reached.
    if let Some(first) = findings.iter_mut().find(|finding| finding.mark != Mark::Good) {
        first.remedy = remedy;
    }
    if let (Ok(changes), Some(last)) = (host::changes(), findings.last_mut())
        && last.mark != Mark::Good
        && !changes.is_empty()
    {
        last.remedy.push("bench doctor --fix     changes, until bench doctor --undo:".to_owned());
        last.remedy.extend(changes.iter().map(|change| format!("  {change}")));
    }
    findings
}

fn agents(places: &PlaceOptions) -> Result<Vec<Finding>, Failure> {
    let dir = front::agents_dir(places.agents_dir.as_deref());
    let catalog = Catalog::builtin(Some(dir)).or_exit(Exit::Ours)?;
    let found = catalog.installed_agents().into_iter().map(|agent| {
        let what = format!("agent {}", agent.name);
        match (agent.problem, agent.version) {
            (Some(problem), _) => {
                let mut lines = problem.lines().map(|line| line.trim().to_owned());
                let first = lines.next().unwrap_or_default();
                finding(Mark::Absent, what, first, lines.collect())
            }
            (None, Some(version)) => finding(Mark::Good, what, version, Vec::new()),
            (None, None) => finding(Mark::Good, what, "built in", Vec::new()),
        }
    });
    Ok(found.collect())
}

fn suites(places: &PlaceOptions) -> Vec<Finding> {
    let suites = list_suites(&front::suite_roots(&places.suites));
    if suites.is_empty() {
        let remedy = vec!["run bench from its checkout, or name the folder: --suites DIR".to_owned()];
        return vec![finding(
            Mark::Bad,
            "suites",
            "none below tasks/suites, here or beside the binary",
            remedy,
        )];
    }
    let found = |(id, dir): (&bench_core::SuiteId, &std::path::PathBuf)| {
        finding(Mark::Good, format!("suite {id}"), dir.display().to_string(), Vec::new())
    };
    suites.iter().map(found).collect()
}

fn state(dir: &Path) -> Finding {
    match front::can_write(dir) {
        true => finding(Mark::Good, "state directory", dir.display().to_string(), Vec::new()),
        false => finding(
            Mark::Bad,
            "state directory",
            format!("{} cannot be written", dir.display()),
            vec!["name another one: --state-dir DIR, or BENCH_STATE_DIR".to_owned()],
        ),
    }
}

/// Can this experiment be run here? The exit code is that with which `bench run` would refuse it.
fn experiment(file: &Path, options: &DoctorOptions, reachable: &Reachable) -> (Vec<Finding>, Exit) {
    let opened = ExperimentText::read(Some(file)).and_then(|text| Source::open(text, &options.places));
    let source = match opened {
        Ok(source) => source,
        Err(failure) => {
            let words = failure.words();
            let mut lines = words.lines().map(str::to_owned);
            let first = lines.next().unwrap_or_default();
            return (vec![finding(Mark::Bad, "experiment file", first, lines.collect())], failure.exit);
        }
    };
    let plan = &source.plan;
    let counts =
        format!("{} tasks, {} arms, {} cells", plan.tasks.len(), plan.arms.len(), plan.schedule.len());
    let mut findings = vec![finding(Mark::Good, "experiment file", counts, Vec::new())];
    for (task, why) in &plan.skipped {
        findings.push(finding(Mark::Absent, format!("task {task}"), format!("skipped: {why}"), Vec::new()));
    }
    let minimum = plan.experiment.min_isolation;
    let mut exit = Exit::Good;
    let level = format!("{minimum} required, {} reached", reachable.level);
    let mark = if reachable.level >= minimum { Mark::Good } else { Mark::Bad };
    if mark == Mark::Bad {
        exit = Exit::Isolation;
    }
    findings.push(finding(mark, "isolation", level, Vec::new()));
    let word = plan.experiment.upstream.word();
    findings.push(match check_upstream(&source) {
        Ok(()) => finding(Mark::Good, "upstream", format!("{word} can be used"), Vec::new()),
        Err(failure) => {
            exit = failure.exit;
            finding(Mark::Bad, "upstream", format!("{word}: {}", failure.words()), Vec::new())
        }
    });
    (findings, exit)
}

/// The same for other programs.
fn sheet(
    options: &DoctorOptions,
    reachable: &Reachable,
    state_dir: &Path,
    needed: &[Finding],
) -> Result<serde_json::Value, Failure> {
    let agents_dir = front::agents_dir(options.places.agents_dir.as_deref());
    let agents = Catalog::builtin(Some(agents_dir.clone())).or_exit(Exit::Ours)?.installed_agents();
    let suites = list_suites(&front::suite_roots(&options.places.suites));
    let needed: Vec<_> = needed
        .iter()
        .map(|one| json!({"what": one.what, "found": one.found, "usable": one.mark != Mark::Bad}))
        .collect();
    Ok(json!({
        "format_version": 1,
        "harness": front::harness(),
        "kernel": front::kernel(),
        "isolation": {
            "level": reachable.level, "landlock_abi": reachable.landlock_abi,
            "missing": reachable.missing, "control_groups": reachable.control_groups, "remedy": reachable.remedy,
            "fix": host::changes().ok(),
        },
        "tokenizers": bench_proxy::TOKENIZERS,
        "agents": agents.iter().map(|a| json!({"name": a.name, "version": a.version, "problem": a.problem})).collect::<Vec<_>>(),
        "suites": suites.iter().map(|(id, dir)| json!({"name": id, "dir": dir})).collect::<Vec<_>>(),
        "state_dir": state_dir,
        "agents_dir": agents_dir,
        "experiment": needed,
    }))
}
