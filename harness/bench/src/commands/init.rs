//! `bench init` and `bench schema`: the experiment file to start from, its JSON schema, and what stands beside them.

use std::path::{Path, PathBuf};

use bench_config::{Setting, with_settings};

use crate::exit::{Exit, Failure, OrExit, fail};
use crate::options::{InitKind, InitOptions, SchemaOf, SchemaOptions};
use crate::say;

/// The schema's file, beside the experiment file whose first line names it.
const SCHEMA: &str = "experiment.schema.json";

/// Where a workflow lies in a repository.
const WORKFLOW: &str = ".github/workflows/bench.yml";

/// A file to write.
struct Written {
    path: PathBuf,
    text: String,
}

/// Writes a commented experiment file, the schema by which editors check it, and what else the kind needs.
pub(crate) fn init(options: &InitOptions) -> Result<Exit, Failure> {
    let file = options.file.clone().unwrap_or_else(|| PathBuf::from("experiment.toml"));
    let text = template(options.kind);
    if file.as_os_str() == "-" {
        say::text(&headed(text));
        return Ok(Exit::Good);
    }
    let mut files = vec![Written { path: file.clone(), text: headed(text) }];
    files.extend(beside(options.kind, &file)?);
    if let Some(there) = files.iter().find(|written| written.path.exists() && !options.force) {
        return fail(
            Exit::Usage,
            format!("{} exists; name another file, or overwrite it with --force", there.path.display()),
        );
    }
    files.push(Written { path: file.with_file_name(SCHEMA), text: bench_config::schema() });
    for written in &files {
        write(written)?;
        say::line(&format!("{} written", written.path.display()));
    }
    next(options.kind, &file).iter().for_each(|line| say::line(line));
    Ok(Exit::Good)
}

/// Prints a JSON schema.
pub(crate) fn schema(options: &SchemaOptions) -> Result<Exit, Failure> {
    let schema = match options.of {
        SchemaOf::Experiment => bench_config::schema(),
        SchemaOf::Analysis => bench_reports::analysis_schema(),
    };
    say::raw(schema.as_bytes());
    Ok(Exit::Good)
}

fn template(kind: InitKind) -> &'static str {
    match kind {
        InitKind::EveryKey => bench_config::TEMPLATE,
        InitKind::SurfaceOnly => bench_config::SURFACE_ONLY,
        InitKind::FourArm => bench_config::FOUR_ARM,
        InitKind::RealAgents => bench_config::REAL_AGENTS,
        InitKind::Ci => bench_config::CI,
    }
}

/// The line by which editors find the schema, then the file.
fn headed(text: &str) -> String {
    format!("#:schema ./{SCHEMA}\n{text}")
}

fn beside(kind: InitKind, file: &Path) -> Result<Vec<Written>, Failure> {
    match kind {
        InitKind::EveryKey | InitKind::SurfaceOnly | InitKind::RealAgents => Ok(Vec::new()),
        InitKind::FourArm => {
            let settings = ["name=four-arm-smoke", "stage=smoke", "repeats=2", "run-limits.cost-usd=1.0"];
            let settings = settings.map(str::parse).into_iter().collect::<Result<Vec<Setting>, _>>();
            let text = settings.and_then(|settings| with_settings(bench_config::FOUR_ARM, &settings));
            let text = text.or_exit(Exit::Ours)?;
            let text = text.split_once("\nname =").map_or(text.clone(), |(_, rest)| {
                format!(
                    "# The smoke stage of {}: does every arm work at all? It may FAIL, never PASS.\n\nname ={rest}",
                    file.display()
                )
            });
            Ok(vec![Written { path: smoke_of(file), text: headed(&text) }])
        }
        InitKind::Ci => {
            let workflow = include_str!("../../../../examples/ci/bench.yml");
            let text = workflow.replace("examples/ci/ci.toml", &file.display().to_string());
            Ok(vec![Written { path: file.with_file_name(WORKFLOW), text }])
        }
    }
}

/// `my.toml` -> `my-smoke.toml`.
fn smoke_of(file: &Path) -> PathBuf {
    let stem = file.file_stem().map_or("experiment".to_owned(), |stem| stem.to_string_lossy().into_owned());
    file.with_file_name(format!("{stem}-smoke.toml"))
}

fn write(written: &Written) -> Result<(), Failure> {
    let parent = written.path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::write(&written.path, &written.text))
        .map_err(|e| anyhow::anyhow!("{}: {e}; name a file that can be written", written.path.display()))
        .or_exit(Exit::Usage)
}

fn next(kind: InitKind, file: &Path) -> Vec<String> {
    let shown = file.display();
    match kind {
        InitKind::EveryKey => vec![format!("next: bench plan {shown}, then bench run {shown}")],
        InitKind::SurfaceOnly => vec![format!("next: bench surface {shown}")],
        InitKind::FourArm => {
            let smoke = smoke_of(file);
            vec![
                format!("next: bench doctor {shown}, then bench run {}", smoke.display()),
                format!("then: bench plan {shown}, and bench run {shown}"),
            ]
        }
        InitKind::RealAgents => {
            vec![format!("next: bench doctor {shown}, then bench surface {shown} and bench run {shown}")]
        }
        InitKind::Ci => vec![format!("next: bench run {shown}, then commit it with {WORKFLOW}")],
    }
}
