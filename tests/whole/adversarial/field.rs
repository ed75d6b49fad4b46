//! Where attempts are played: a suite of one task an attempt, an experiment at one level, one run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use crate::workplace::{Outcome, Workplace};

/// What stands in the file outside, and must never come out of a cell.
pub(crate) const SECRET: &str = "S3CRET-7f2c";

/// Asks the model once, over the shell's own TCP: what every agent does.
const ASK: &str = r#"h=${BENCH_BASE_URL#http://}; h=${h%%/*}; p=${BENCH_BASE_URL#http://$h}
b='{"model":"oracle","messages":[{"role":"user","content":"go"}],"tools":[]}'
exec 3<>/dev/tcp/${h%:*}/${h#*:}
printf 'POST %s/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %s\r\nConnection: close\r\n\r\n%s' "$p" "$BENCH_API_KEY" ${#b} "$b" >&3
while read -r -t 5 line <&3; do :; done; exec 3>&-
"#;

/// A folder with a file outside every cell, in which attempts are played at one level.
pub(crate) struct Field {
    place: Workplace,
    outside: tempfile::TempDir,
    level: String,
    keys: String,
    check: String,
    wall_ms: u32,
    try_program: bool,
    /// Another agent than the shell: its name, its script and where it is installed.
    agent: Option<(String, String, PathBuf)>,
    output_bytes: Option<u64>,
    /// Descriptors that the harness may have.
    descriptors: Option<u32>,
    jobs: u32,
}

/// What became of one attempt.
pub(crate) struct Cell {
    pub(crate) name: String,
    pub(crate) level: String,
    pub(crate) record: Value,
    pub(crate) stdout: String,
}

impl Field {
    /// At the highest level of this machine.
    pub(crate) fn at_the_highest_level() -> Self {
        static HIGHEST: OnceLock<String> = OnceLock::new();
        let level = HIGHEST.get_or_init(|| Workplace::new().highest_level().trim_matches('"').to_owned());
        Self::at(level)
    }

    /// At this level.
    pub(crate) fn at(level: &str) -> Self {
        let place = Workplace::new();
        // Not below /tmp, which is another one inside; and open to everybody, so that the walls alone refuse it.
        let outside = tempfile::tempdir_in("/var/tmp").unwrap();
        let answer = outside.path().join("answer.txt");
        std::fs::write(&answer, format!("{SECRET}\n")).unwrap();
        for (path, mode) in [(outside.path(), 0o777), (answer.as_path(), 0o666)] {
            std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        }
        let level = level.to_owned();
        let check = "test -f done".to_owned();
        Self {
            place,
            outside,
            level,
            keys: String::new(),
            check,
            wall_ms: 20_000,
            try_program: false,
            agent: None,
            output_bytes: None,
            descriptors: None,
            jobs: 1,
        }
    }

    pub(crate) fn level(&self) -> &str {
        &self.level
    }

    pub(crate) fn place(&self) -> &Workplace {
        &self.place
    }

    /// A path of the directory outside.
    pub(crate) fn outside(&self, name: &str) -> String {
        self.outside.path().join(name).to_str().unwrap().to_owned()
    }

    /// With these lines in the experiment file.
    pub(crate) fn with_keys(mut self, keys: &str) -> Self {
        self.keys = format!("{keys}\n");
        self
    }

    /// With another hidden check than "is there a file `done`".
    pub(crate) fn with_check(mut self, check: &str) -> Self {
        check.clone_into(&mut self.check);
        self
    }

    /// With scripts that this agent runs, under this name, in place of the shell's.
    pub(crate) fn with_agent(mut self, agent: &str, script: &str, agents_dir: &Path) -> Self {
        self.agent = Some((agent.to_owned(), script.to_owned(), agents_dir.to_owned()));
        self
    }

    /// With another wall limit.
    pub(crate) fn with_wall_ms(mut self, wall_ms: u32) -> Self {
        self.wall_ms = wall_ms;
        self
    }

    /// With a cap on what a cell may write to its outputs.
    pub(crate) fn with_output_bytes(mut self, bytes: u64) -> Self {
        self.output_bytes = Some(bytes);
        self
    }

    /// With a harness that may not have more descriptors than this.
    pub(crate) fn with_descriptors(mut self, most: u32) -> Self {
        self.descriptors = Some(most);
        self
    }

    /// With this many cells at a time.
    pub(crate) fn with_jobs(mut self, jobs: u32) -> Self {
        self.jobs = jobs;
        self
    }

    /// With `./try` in every workspace: try.c, compiled.
    pub(crate) fn with_try(mut self) -> Self {
        self.try_program = true;
        self
    }

    /// Plays attempts, each a shell script in a cell of its own, in this order; by name. OUTSIDE in a script is the
    /// directory outside.
    pub(crate) fn play(&self, attempts: &[(&str, &str)]) -> BTreeMap<String, Cell> {
        self.prepare(attempts);
        let jobs = self.jobs.to_string();
        let args = ["run", "experiment.toml", "-q", "-o", "run", "--suites", "suites", "-j", &jobs];
        let mut command = self.place.command(&args);
        if let Some(most) = self.descriptors {
            command = limited(&command, most);
        }
        if let Some((_, _, agents_dir)) = &self.agent {
            command.env("BENCH_AGENTS_DIR", agents_dir);
        }
        let outcome = Outcome::of(command.output().unwrap());
        self.cells(attempts.len(), &outcome)
    }

    /// Plays one attempt.
    pub(crate) fn play_one(&self, script: &str) -> Cell {
        self.play(&[("one", script)]).remove("one").unwrap()
    }

    /// Writes suite and experiment; who plays them with another command reads them with [`Self::cells`].
    pub(crate) fn prepare(&self, attempts: &[(&str, &str)]) {
        let _ = std::fs::remove_dir_all(self.place.path().join("suites"));
        let _ = std::fs::remove_dir_all(self.place.path().join("run"));
        for (name, script) in attempts {
            let dir = format!("suites/adverse/{name}");
            let canary = format!("bench-canary-77aa-adverse-{name}");
            let task = format!(
                "format-version = 1\ntitle = \"{name}\"\ntrack = \"default\"\ncanary = \"{canary}\"\n"
            );
            self.place.file(&format!("{dir}/task.toml"), &task);
            self.place.file(&format!("{dir}/instruction.md"), "Do it.\n");
            self.place.file(&format!("{dir}/workspace/a.txt"), "a\n");
            self.place.file(&format!("{dir}/verify/run.sh"), &format!("# {canary}\n{}\n", self.check));
            let oracle = format!("# {canary}\nformat-version = 1\n[[step]]\nanswer = \"done\"\n");
            self.place.file(&format!("{dir}/oracle.toml"), &oracle);
            let script = script.replace("OUTSIDE", self.outside("").trim_end_matches('/'));
            match &self.agent {
                None => self.place.file(&format!("{dir}/workspace/agent.sh"), &format!("{ASK}\n{script}\n")),
                Some((_, name, _)) => self.place.file(&format!("{dir}/workspace/{name}"), &script),
            };
            if self.try_program {
                let path = self.place.path().join(format!("{dir}/workspace/try"));
                std::fs::copy(try_program(), path).unwrap();
            }
        }
        let cap = self.output_bytes.map_or(String::new(), |bytes| format!("output-bytes = {bytes}\n"));
        let (agent, command) = match &self.agent {
            None => ("command", "\"/bin/bash\", \"agent.sh\"".to_owned()),
            Some((agent, script, _)) => (agent.as_str(), format!("{script:?}")),
        };
        let experiment = format!(
            "name = \"adverse\"\nseed = 1\nrepeats = 1\nsuite = \"adverse\"\nmodel = \"oracle\"\n\
             min-isolation = \"{}\"\n{}\n[upstream]\nkind = \"oracle\"\n[limits]\nwall-ms = {}\n{cap}\
             [[arm]]\nname = \"only\"\nagent = \"{agent}\"\nsurface = \"as-is\"\ncommand = [{command}]\n",
            self.level, self.keys, self.wall_ms
        );
        self.place.file("experiment.toml", &experiment);
    }

    /// Reads what became of them.
    pub(crate) fn cells(&self, count: usize, outcome: &Outcome) -> BTreeMap<String, Cell> {
        assert!(self.place.path().join("run/journal.jsonl").exists(), "{outcome:?}");
        let mut cells = BTreeMap::new();
        for record in self.place.records("run") {
            let name = record["task"].as_str().unwrap().to_owned();
            let dir = self.place.path().join("run").join(record["dir"].as_str().unwrap());
            let stdout = std::fs::read(dir.join("stdout")).unwrap_or_default();
            let stdout = String::from_utf8_lossy(&stdout).into_owned();
            assert_eq!(record["isolation"]["level"], *self.level, "{name}: {:#}", record["ending"]);
            cells.insert(name.clone(), Cell { name, level: self.level.clone(), record, stdout });
        }
        assert_eq!(cells.len(), count, "{outcome:?}");
        cells
    }
}

/// The same command, by a shell that has lowered its limit on descriptors for good.
fn limited(command: &Command, most: u32) -> Command {
    let mut limited = Command::new("/bin/sh");
    limited.arg("-c").arg(format!("ulimit -n {most} && exec \"$0\" \"$@\""));
    limited.arg(command.get_program()).args(command.get_args()).env_clear();
    limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    limited.current_dir(command.get_current_dir().expect("a workplace has a directory"));
    limited
}

/// try.c, compiled once.
fn try_program() -> &'static std::path::Path {
    static PROGRAM: OnceLock<std::path::PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| compiled("try", &[]))
}

/// try.c, compiled with these options, under this name.
pub(crate) fn compiled(name: &str, options: &[&str]) -> std::path::PathBuf {
    // Another user than the one who built this may not write below the target directory.
    let dir = std::env::var_os("TRY_PROGRAMS")
        .map_or_else(|| env!("CARGO_TARGET_TMPDIR").into(), std::path::PathBuf::from);
    let program = dir.join(format!("{name}-{}", std::process::id()));
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/whole/adversarial/try.c");
    let mut cc = Command::new("cc");
    cc.arg("-O1").args(options).arg("-o").arg(&program).arg(&source).args(["-lpthread", "-lrt"]);
    let output = cc.output().expect("a C compiler builds this project already");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

impl Cell {
    pub(crate) fn ending(&self) -> &str {
        self.record["ending"]["kind"].as_str().unwrap()
    }

    pub(crate) fn events(&self) -> &[Value] {
        self.record["isolation"]["events"].as_array().unwrap()
    }

    pub(crate) fn outside(&self) -> Vec<&Value> {
        self.events().iter().filter(|event| event["class"] == "outside_access").collect()
    }

    /// Does anybody listen at this level?
    pub(crate) fn is_heard(&self) -> bool {
        self.record["isolation"]["evidence_complete"] == true
    }

    /// Is every open of a name heard, existing or not?
    pub(crate) fn hears_opens(&self) -> bool {
        self.is_heard() && self.record["isolation"]["detector"].as_str().unwrap().contains("notify-open")
    }

    pub(crate) fn names_gap(&self, word: &str) -> bool {
        let missing = self.record["isolation"]["missing"].as_array().unwrap();
        missing.iter().any(|gap| gap.as_str().unwrap().contains(word))
    }

    /// It had no effect: nothing came out, nothing went through.
    #[track_caller]
    pub(crate) fn had_no_effect(&self, field: &Field) -> &Self {
        assert!(!self.stdout.contains("EFFECT"), "{}:\n{}", self.told(), self.stdout);
        assert!(!self.stdout.contains(SECRET), "{}:\n{}", self.told(), self.stdout);
        let answer = std::fs::read_to_string(field.outside("answer.txt"));
        assert_eq!(answer.ok(), Some(format!("{SECRET}\n")), "{}: it was changed", self.told());
        assert_eq!(self.record["isolation"]["quiescent"], true, "{}", self.told());
        self
    }

    /// It said this on a line of its own.
    #[track_caller]
    pub(crate) fn said(&self, line: &str) -> &Self {
        assert!(self.stdout.lines().any(|said| said == line), "{}: {line} in\n{}", self.told(), self.stdout);
        self
    }

    /// Where somebody listens: it was recorded as wandering, refused, and ended the cell, which was graded all the same.
    #[track_caller]
    pub(crate) fn is_recorded(&self) -> &Self {
        if self.is_heard() {
            let events = &self.record["isolation"]["events"];
            assert_eq!(self.ending(), "outside_access", "{}: {events:#}\n{}", self.told(), self.stdout);
            assert!(
                self.outside().iter().any(|event| event["denied"] == true),
                "{}: {events:#}",
                self.told()
            );
            assert!(self.record["metrics"]["outside_accesses"].as_u64().unwrap() >= 1, "{}", self.told());
            assert_eq!(self.record["verdict"], "passed", "{}: graded for the second decision", self.told());
        }
        self
    }

    /// As [`Self::is_recorded`], and an event names this process: where the kernel's records are listened to, if the harness
    /// is root, whose cells have users of their own.
    #[track_caller]
    pub(crate) fn is_recorded_of(&self, process: &str) -> &Self {
        self.is_recorded();
        if self.is_heard() && (self.level != "L3" || bench_isolation::effective_uid() == 0) {
            let named = self.outside().iter().any(|event| event["process"] == process);
            assert!(named, "{}: {process} in {:#}", self.told(), self.record["isolation"]["events"]);
        }
        self
    }

    /// As [`Self::is_recorded`], where names that do not exist inside are heard as well.
    #[track_caller]
    pub(crate) fn is_recorded_by_name(&self) -> &Self {
        if self.hears_opens() { self.is_recorded() } else { self }
    }

    /// An event of this operation is in the record, whatever its class.
    #[track_caller]
    pub(crate) fn records(&self, operation: &str) -> &Self {
        if self.is_heard() {
            let found = self.events().iter().any(|event| event["operation"] == operation);
            assert!(found, "{}: {operation} in {:#}", self.told(), self.record["isolation"]["events"]);
        }
        self
    }

    /// The cell is used: nothing that it did counts as wandering, nothing is missing from its evidence, and it passed.
    #[track_caller]
    pub(crate) fn is_valid(&self) -> &Self {
        assert_eq!(
            self.ending(),
            "completed",
            "{}: {:#}\n{}",
            self.told(),
            self.record["ending"],
            self.stdout
        );
        assert_eq!(self.outside(), Vec::<&Value>::new(), "{}", self.told());
        assert_ne!(self.record["isolation"]["evidence_complete"], false, "{}", self.told());
        assert_eq!(self.record["isolation"]["quiescent"], true, "{}", self.told());
        assert_eq!(self.record["verdict"], "passed", "{}: {}", self.told(), self.stdout);
        self
    }

    fn told(&self) -> String {
        format!("{} at {}", self.name, self.level)
    }
}
