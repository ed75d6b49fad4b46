//! A folder of its own for each test, and the binary started in it as a user would.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A temporary working directory with its own state directory.
pub(crate) struct Workplace {
    dir: tempfile::TempDir,
}

/// What a call of the binary came to.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Workplace {
    pub(crate) fn new() -> Self {
        // Not below the checkout: as root a cell has a user of its own, who must get through at L1.
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        Self { dir }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The binary with this test's state directory, the project's suites and nothing of the caller's environment.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bench"));
        command
            .args(args)
            .current_dir(self.path())
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.path())
            .env("BENCH_STATE_DIR", self.path().join("state"))
            .stdin(Stdio::null());
        if let Some(agents) = std::env::var_os("BENCH_AGENTS_DIR") {
            command.env("BENCH_AGENTS_DIR", agents);
        }
        command
    }

    /// Runs the binary to its end.
    pub(crate) fn bench(&self, args: &[&str]) -> Outcome {
        Outcome::of(self.command(args).output().unwrap())
    }

    /// The highest isolation level that this machine reaches, as a word in quotation marks.
    pub(crate) fn highest_level(&self) -> String {
        let doctor: Value = serde_json::from_str(&self.bench(&["doctor", "--json"]).exits(0).stdout).unwrap();
        doctor["isolation"]["level"].to_string()
    }

    /// Writes a file below the workplace and returns its path as text.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        let path = self.path().join(name);
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// Records of a journal.
    pub(crate) fn records(&self, run: &str) -> Vec<Value> {
        self.read(&format!("{run}/journal.jsonl"))
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

impl Outcome {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Asserts the exit code and shows everything when it is another.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Asserts that standard error says all of these.
    #[track_caller]
    pub(crate) fn complains(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is missing from stderr:\n{}", self.stderr);
        }
        self
    }
}

/// The project's root.
pub(crate) fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Does this kernel have Landlock? Says so when not, with the name of what is skipped.
pub(crate) fn walls(test: &str) -> bool {
    // SAFETY: a query of the ABI version (flag 1) takes no pointer.
    let abi =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0usize, 1u32) };
    if abi < 1 {
        skipped(test, "this kernel has no Landlock, so no wall can be put up");
    }
    abi >= 1
}

/// Names a test that cannot be run here, with its reason. Not by `eprintln`: the test harness shows that of failed tests
/// alone.
pub(crate) fn skipped(test: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {why}");
}

/// A two-arm experiment on the smoke suite: small enough to be killed fifty times.
pub(crate) fn smoke_experiment(name: &str) -> String {
    format!(
        r#"name = "{name}"
seed = 7
repeats = 2
suite = "smoke"
model = "oracle"

[upstream]
kind = "oracle"

[[arm]]
name = "bare"
surface = "bare"

[[arm]]
name = "gateway"
surface = "gateway"

[[contrast]]
name = "gateway-vs-bare"
control = "bare"
candidate = "gateway"
factor = "surface"

[[gate]]
metric = "first_request_tokens"
limit = 1.25
"#
    )
}
