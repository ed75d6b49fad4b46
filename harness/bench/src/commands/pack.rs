//! `bench pack`: a bundle from which a stranger recomputes the report. Before it is written, the report is recomputed here
//! from what will be in it: redaction must not have changed a number.

use std::fs;
use std::path::{Path, PathBuf};

use bench_core::Sha256Hex;
use bench_record::{CellRecord, RunDir};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::commands::clean::bytes;
use crate::commands::report;
use crate::exit::{Exit, Failure, OrExit, fail};
use crate::options::PackOptions;
use crate::redaction::Redaction;
use crate::{front, say};

/// What a run's numbers come from, and what they came to.
const NUMBERS: [&str; 3] = ["experiment.toml", "lock.json", "journal.jsonl"];

struct Packed {
    name: String,
    bytes: Vec<u8>,
}

/// Writes the bundle.
pub(crate) fn pack(options: &PackOptions) -> Result<Exit, Failure> {
    let dir = report::run_dir(options.run.as_deref())?;
    let run = RunDir::open(&dir).or_exit(Exit::Usage)?;
    let root = run.root().canonicalize().or_exit(Exit::Usage)?;
    let name = root.file_name().map_or("run".to_owned(), |name| name.to_string_lossy().into_owned());
    let mut redaction = Redaction::new(front::private_texts(), &options.redact);
    let mut files = Vec::new();
    for file in NUMBERS {
        let text = read(&root.join(file))?;
        files.push(Packed { name: file.to_owned(), bytes: redaction.of_text(&text).into_bytes() });
    }
    same_numbers(&dir, &files)?;
    for path in below(&root.join("report")) {
        let text = String::from_utf8_lossy(&read(&path)?).into_owned();
        files.push(Packed {
            name: relative(&path, &root),
            bytes: redaction.of_text(text.as_bytes()).into_bytes(),
        });
    }
    if options.evidence {
        for path in below(&root.join("cells")) {
            files.push(Packed { name: relative(&path, &root), bytes: redaction.in_place(read(&path)?) });
        }
    }
    let manifest = manifest(&name, &files, &redaction, options.evidence);
    files.push(Packed { name: "README.txt".to_owned(), bytes: read_me(&name).into_bytes() });
    files.push(Packed { name: "MANIFEST.json".to_owned(), bytes: format!("{manifest:#}\n").into_bytes() });
    let target = options.output.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.tar.gz")));
    write(&target, &name, &files)
        .map_err(|e| anyhow::anyhow!("{}: {e}; name another file with -o", target.display()))
        .or_exit(Exit::Usage)?;
    told(&target, &files, &redaction, options.json);
    Ok(Exit::Good)
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|e| anyhow::anyhow!("{}: {e}", path.display())).or_exit(Exit::Usage)
}

/// Recomputes the report from the files as they will be packed.
fn same_numbers(dir: &Path, files: &[Packed]) -> Result<(), Failure> {
    let lock: Value = serde_json::from_slice(&files[1].bytes).or_exit(Exit::Ours)?;
    let lines = files[2].bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    let records: Vec<CellRecord> =
        lines.map(serde_json::from_slice).collect::<Result<_, _>>().or_exit(Exit::Ours)?;
    let again = bench_reports::analyse(&lock, &records).or_exit(Exit::Ours)?;
    let numbers = |analysis: &bench_reports::Analysis| {
        let mut value = serde_json::to_value(analysis).expect("an analysis is a JSON value");
        strip_words(&mut value);
        value
    };
    if numbers(&again) == numbers(&report::analyse(dir)?) {
        return Ok(());
    }
    fail(
        Exit::Usage,
        "what was redacted would change a number of the report; name less with --redact, or rename what holds it",
    )
}

/// Sentences may hold what was redacted; numbers and codes may not.
fn strip_words(value: &mut Value) {
    match value {
        Value::String(text) if text.contains(' ') || text.contains('[') => text.clear(),
        Value::Array(items) => items.iter_mut().for_each(strip_words),
        Value::Object(map) => map.values_mut().for_each(strip_words),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Files below a folder, by name; links are left out.
fn below(dir: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<fs::DirEntry> =
        fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok).collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    entries
        .into_iter()
        .flat_map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => below(&entry.path()),
            Ok(kind) if kind.is_file() => vec![entry.path()],
            Ok(_) | Err(_) => Vec::new(),
        })
        .collect()
}

fn relative(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

fn manifest(name: &str, files: &[Packed], redaction: &Redaction, evidence: bool) -> Value {
    let listed: Vec<Value> = files
        .iter()
        .map(|file| {
            json!({"name": file.name, "bytes": file.bytes.len(), "sha256": Sha256Hex::of(&file.bytes)})
        })
        .collect();
    json!({
        "format_version": 1,
        "run": name,
        "harness": front::harness(),
        "evidence": evidence,
        "redacted": redaction.counts(),
        "files": listed,
    })
}

fn read_me(name: &str) -> String {
    format!(
        "A run of bench. Its report, made again from journal and lock alone:\n\n    tar xzf {name}.tar.gz\n    bench report {name}\n    bench gate {name}        (exit code by verdict)\n\nMANIFEST.json lists every file with its digest, and how often what was redacted. Evidence in which something was\nredacted does not fit its digest in the journal any more; numbers are not touched.\n"
    )
}

/// Owner, times and modes are the same for all, so that equal runs make equal bundles.
fn write(target: &Path, name: &str, files: &[Packed]) -> std::io::Result<()> {
    let mut archive = tar::Builder::new(GzEncoder::new(fs::File::create(target)?, Compression::default()));
    for file in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(file.bytes.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        archive.append_data(&mut header, format!("{name}/{}", file.name), file.bytes.as_slice())?;
    }
    archive.into_inner()?.finish()?.sync_all()
}

fn told(target: &Path, files: &[Packed], redaction: &Redaction, as_json: bool) {
    let size = fs::metadata(target).map_or(0, |meta| meta.len());
    if as_json {
        let value =
            json!({"bundle": target, "bytes": size, "files": files.len(), "redacted": redaction.counts()});
        return say::line(&format!("{value:#}"));
    }
    say::line(&format!("{}: {} files, {}", target.display(), files.len(), bytes(size)));
    for (what, times) in redaction.counts() {
        say::line(&format!("  redacted {what}: {times} times"));
    }
    say::line(
        "look through it before you publish it: only what looks like a key, a path or a name was redacted",
    );
}
