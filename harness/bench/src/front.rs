//! The front doors: environment and machine, read here once and handed on as values.

use std::path::{Path, PathBuf};

use bench_core::Sha256Hex;
use bench_proxy::RoadRule;
use bench_record::HarnessIdentity;

/// Programs that cells find; nothing of the caller's own PATH leaks in.
pub(crate) const CELL_PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/// Version and revision of this build.
pub(crate) fn harness() -> HarnessIdentity {
    let revision = env!("BENCH_REVISION");
    HarnessIdentity {
        version: env!("CARGO_PKG_VERSION").into(),
        revision: (!revision.is_empty()).then(|| revision.into()),
    }
}

/// Kernel release, or `unknown`.
pub(crate) fn kernel() -> String {
    std::fs::read_to_string("/proc/sys/kernel/osrelease")
        .map_or_else(|_| "unknown".to_owned(), |s| s.trim().to_owned())
}

/// A digest that stands for this machine and does not reveal its name.
pub(crate) fn host_id() -> String {
    let identity = ["/etc/machine-id", "/proc/sys/kernel/hostname"]
        .iter()
        .find_map(|path| std::fs::read_to_string(path).ok().filter(|text| !text.trim().is_empty()))
        .unwrap_or_default();
    Sha256Hex::of(format!("bench host {}", identity.trim())).as_str()[..16].to_owned()
}

/// The file to which a step of GitHub Actions adds its summary.
pub(crate) fn github_summary() -> Option<PathBuf> {
    std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Are we root?
fn is_root() -> bool {
    bench_isolation::effective_uid() == 0
}

fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from)
}

fn xdg(variable: &str, fallback: &str) -> PathBuf {
    match std::env::var_os(variable).filter(|dir| Path::new(dir).is_absolute()) {
        Some(dir) => PathBuf::from(dir),
        None => home().unwrap_or_else(|| PathBuf::from("/")).join(fallback),
    }
}

/// Where cells live while they run.
pub(crate) fn state_dir(asked: Option<&Path>) -> PathBuf {
    match asked {
        Some(dir) => dir.to_owned(),
        None if is_root() => PathBuf::from("/var/lib/bench"),
        None => xdg("XDG_STATE_HOME", ".local/state").join("bench"),
    }
}

/// Where real agents are installed.
pub(crate) fn agents_dir(asked: Option<&Path>) -> PathBuf {
    match asked {
        Some(dir) => dir.to_owned(),
        None if is_root() => PathBuf::from("/var/lib/bench/agents"),
        None => xdg("XDG_DATA_HOME", ".local/share").join("bench/agents"),
    }
}

/// Folders that may hold suites, in order: those asked for, `tasks/suites` here and above the binary, and
/// `share/bench/suites` beside an installed one.
pub(crate) fn suite_roots(asked: &[PathBuf]) -> Vec<PathBuf> {
    let mut roots = asked.to_vec();
    roots.push(PathBuf::from("tasks/suites"));
    if let Ok(exe) = std::env::current_exe() {
        for dir in exe.ancestors().skip(1) {
            roots.push(dir.join("tasks/suites"));
            roots.push(dir.join("share/bench/suites"));
        }
    }
    let mut found: Vec<PathBuf> = Vec::new();
    for root in roots.into_iter().filter_map(|root| root.canonicalize().ok()).filter(|root| root.is_dir()) {
        if !found.contains(&root) {
            found.push(root);
        }
    }
    found
}

/// The value of an environment variable that holds a key.
pub(crate) fn key(variable: &str) -> Option<String> {
    std::env::var(variable).ok().filter(|key| !key.is_empty())
}

/// How endpoints are reached: proxy and trust, in the variables that other programs read as well.
pub(crate) fn road() -> RoadRule {
    let first = |names: [&str; 2]| {
        names.iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    };
    let all = || first(["ALL_PROXY", "all_proxy"]);
    RoadRule {
        https_proxy: first(["HTTPS_PROXY", "https_proxy"]).or_else(all),
        http_proxy: first(["http_proxy", "HTTP_PROXY"]).or_else(all),
        no_proxy: first(["NO_PROXY", "no_proxy"]),
        ca_files: std::env::var_os("SSL_CERT_FILE")
            .filter(|f| !f.is_empty())
            .map(PathBuf::from)
            .into_iter()
            .collect(),
    }
}

/// Columns for what is printed: `COLUMNS` where it is set, else those of the terminal, else 80.
pub(crate) fn columns() -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal =
        || rustix::termios::tcgetwinsize(std::io::stdout()).ok().map(|size| usize::from(size.ws_col));
    asked.or_else(terminal).filter(|columns| (40..=400).contains(columns)).unwrap_or(80)
}

/// May output be coloured?
pub(crate) fn colour() -> bool {
    use std::io::IsTerminal as _;
    !no_color() && !dumb_terminal() && std::io::stdout().is_terminal()
}

/// Is colour refused, whatever the terminal can do?
pub(crate) fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Can the terminal not move its cursor?
pub(crate) fn dumb_terminal() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

/// Milliseconds since a file or directory was made; `None` where the file system does not say.
pub(crate) fn age_ms(path: &Path) -> Option<f64> {
    let made = std::fs::metadata(path).ok()?.created().ok()?;
    Some(made.elapsed().ok()?.as_secs_f64() * 1000.0)
}

/// Milliseconds since a file was written; `None` where the file system does not say.
pub(crate) fn unchanged_ms(path: &Path) -> Option<f64> {
    let written = std::fs::metadata(path).ok()?.modified().ok()?;
    Some(written.elapsed().ok()?.as_secs_f64() * 1000.0)
}

/// Texts of this machine and its user that mean nothing to a stranger and may tell him too much: their directories and
/// names, longest first, each with what stands for it.
pub(crate) fn private_texts() -> Vec<(String, &'static str)> {
    let here = std::env::current_dir().ok().map(|dir| dir.display().to_string());
    let home = home().map(|dir| dir.display().to_string());
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok().map(|name| name.trim().to_owned());
    let user = std::env::var("USER").ok().filter(|user| user != "root");
    let mut texts: Vec<(String, &'static str)> =
        [(here, "[here]"), (home, "[home]"), (host, "[host]"), (user, "[user]")]
            .into_iter()
            .filter_map(|(text, stand_in)| Some((text?, stand_in)))
            // Short words would be found within others.
            .filter(|(text, _)| text.len() > 3)
            .collect();
    texts.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
    texts
}

/// May this process make files in a directory, or make the directory where it does not exist yet?
pub(crate) fn can_write(dir: &Path) -> bool {
    let existing = dir.ancestors().find(|ancestor| ancestor.exists());
    existing.is_some_and(|dir| rustix::fs::access(dir, rustix::fs::Access::WRITE_OK).is_ok())
}
