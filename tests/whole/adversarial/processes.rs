//! Rows 8 to 11, 20, 21, 28, 31 to 33: other processes, inherited ties, and what a cell leaves behind.

use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;

use super::fields;
use crate::workplace::Outcome;

/// A process of this user outside every cell, ended with the test.
struct Bystander(std::process::Child);

impl Bystander {
    fn start() -> Self {
        let sleep =
            std::process::Command::new("/bin/sleep").arg("600").env("BENCH_STATE_DIR", super::SECRET).spawn();
        Self(sleep.unwrap())
    }

    fn is_as_before(&mut self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        let (state, nice) = (fields[0], fields[16]);
        state == "S" && nice == "0" && self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn row_8_9_what_proc_says_of_others() {
    for field in fields("rows 8, 9") {
        let field = field.with_try();
        let bystander = Bystander::start();
        let scan =
            "for p in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $p; echo; done; cat /proc/net/tcp /proc/keys";
        let of_one =
            format!("cat /proc/{0}/environ /proc/{0}/maps; ls /proc/{0}/fd /proc/{0}/root", bystander.0.id());
        let attempts = [
            ("all", "./try processes; touch done; exit 0".to_owned()),
            ("one", format!("{of_one} 2>/dev/null; touch done; exit 0")),
            ("scan", format!("{{ {scan}; }} 2>/dev/null; touch done; exit 0")),
        ];
        let attempts: Vec<(&str, &str)> =
            attempts.iter().map(|(name, script)| (*name, script.as_str())).collect();
        let cells = field.play(&attempts);
        cells["all"].had_no_effect(&field);
        cells["one"].had_no_effect(&field);
        let scan = &cells["scan"];
        scan.had_no_effect(&field);
        if field.level() == "L1" {
            assert!(scan.names_gap("command lines and states of other processes"));
        } else {
            assert!(!scan.stdout.contains("sleep 600"), "{}", scan.stdout);
            assert!(!scan.stdout.contains("run experiment.toml"), "{}", scan.stdout);
        }
        let twin =
            "ps >/dev/null 2>&1; sleep 5 & cat /proc/$!/status >/dev/null; kill $!; wait; touch done; exit 0";
        field.play_one(twin).is_valid();
    }
}

#[test]
fn row_10_11_descriptors_of_others() {
    for field in fields("rows 10, 11") {
        let field = field.with_try();
        let script = format!(
            "./try descriptors; ./try steal {}; ./try steal 1; touch done; exit 0",
            std::process::id()
        );
        field.prepare(&[("leaked", &script)]);
        // The harness itself is started with a directory and a file that leak into whatever it does not close.
        let dir = std::fs::File::open(field.outside("")).unwrap();
        let file = std::fs::File::open(field.outside("answer.txt")).unwrap();
        let (dir, file) = (dir.as_raw_fd(), file.as_raw_fd());
        let mut command =
            field.place().command(&["run", "experiment.toml", "-q", "-o", "run", "--suites", "suites"]);
        // SAFETY: dup2 is async-signal-safe; both descriptors are open in the parent until after the spawn.
        unsafe {
            command.pre_exec(move || {
                if libc::dup2(dir, 8) < 0 || libc::dup2(file, 9) < 0 {
                    return Err(std::io::Error::last_os_error());
                }
                Ok(())
            });
        }
        let outcome = Outcome::of(command.output().unwrap());
        let cells = field.cells(1, &outcome);
        cells["leaked"].had_no_effect(&field).records("pidfd_getfd");
        let own = "exec 7<a.txt; cat <&7; ls /proc/self/fd >/dev/null; touch done; exit 0";
        field.play_one(own).is_valid();
    }
}

#[test]
fn row_20_21_processes_outside_are_not_reached() {
    for field in fields("rows 20, 21") {
        let field = field.with_try();
        let mut bystander = Bystander::start();
        let reach = format!("./try reach {}; touch done; exit 0", bystander.0.id());
        let attempts = [
            ("reach", reach.as_str()),
            ("reach-init", "./try reach 1 | grep -v 'errno'; touch done; exit 0"),
            ("starve", "./try starve; touch done; exit 0"),
            ("kill-all", "touch done; kill -9 -1; exit 0"),
            ("kill-parent", "touch done; kill -9 $PPID; kill -STOP $PPID; kill -STOP 1; exit 0"),
            ("after-them", "touch done; exit 0"),
        ];
        let cells = field.play(&attempts);
        cells["starve"].had_no_effect(&field);
        assert_eq!(cells["starve"].record["verdict"], "passed");
        let reach = &cells["reach"];
        if !reach.names_gap("priority, limits and affinity") {
            reach.had_no_effect(&field);
            assert!(bystander.is_as_before());
        }
        for name in ["kill-all", "kill-parent"] {
            let cell = &cells[name];
            assert!(
                ["completed", "agent_error", "outside_access"].contains(&cell.ending()),
                "{}",
                cell.ending()
            );
            assert_eq!(cell.record["isolation"]["quiescent"], true, "{name}");
        }
        cells["after-them"].is_valid();
        let twin = "sleep 30 & kill -STOP $!; kill -CONT $!; kill -9 $!; wait; renice 5 $$ >/dev/null; touch done; exit 0";
        field.play_one(twin).is_valid();
    }
}

#[test]
fn row_28_bombs_of_processes_and_threads() {
    for field in fields("row 28") {
        let field = field.with_try();
        let attempts = [
            ("forks", "./try forks; touch done; exit 0"),
            ("threads", "./try threads; touch done; exit 0"),
            ("after-them", "(true | cat); touch done; exit 0"),
        ];
        let cells = field.play(&attempts);
        for cell in cells.values() {
            cell.had_no_effect(&field);
            let enforced = cell.record["isolation"]["enforced"].as_array().unwrap();
            let bound =
                enforced.iter().any(|rule| rule.as_str().unwrap().starts_with("processes and threads: "));
            assert!(bound, "{enforced:#?}");
        }
        cells["after-them"].is_valid();
    }
}

#[test]
fn row_31_32_daemons_are_gone_before_anything_is_judged() {
    for field in fields("rows 31, 32") {
        let field = field.with_try().with_check("sleep 0.3; test -f done && test ! -f late");
        let attempts = [
            ("stubborn", "./try daemon; touch done; exit 0"),
            (
                "sessions",
                "(setsid sh -c 'trap \"\" TERM; exec sleep 61' &); (setsid setsid sleep 61 &) ; touch done; exit 0",
            ),
            (
                "late-editor",
                "(setsid sh -c 'sleep 0.2; while :; do touch late; done' >/dev/null 2>&1 &); touch done; exit 0",
            ),
            (
                "waits-for-verifier",
                "(setsid sh -c 'while test ! -d /verify; do sleep 0.01; done; touch late' &) ; touch done; exit 0",
            ),
        ];
        let cells = field.play(&attempts);
        for cell in cells.values() {
            assert_eq!(cell.record["isolation"]["quiescent"], true, "{}", cell.name);
        }
        for name in ["sessions", "waits-for-verifier", "late-editor"] {
            let cell = &cells[name];
            assert_eq!(cell.ending(), "completed", "{name}: {:#}", cell.record["ending"]);
            assert_eq!(cell.record["verdict"], "passed", "{name}");
            assert!(cell.record["isolation"]["survivors_killed"].as_u64().unwrap() >= 1, "{name}");
            assert!(cell.record["wall_ms"].as_f64().unwrap() < 15_000.0, "{name}: its output was waited for");
        }
        assert!(
            ["completed", "agent_error"].contains(&cells["stubborn"].ending()),
            "{}",
            cells["stubborn"].ending()
        );
        field.play_one("sleep 0.2 & (sleep 0.1; true) & wait; touch done; exit 0").is_valid();
    }
}

#[test]
fn row_33_no_terminal_to_type_into() {
    for field in fields("row 33") {
        let field = field.with_try();
        let attempts = [
            ("terminal", "./try terminal </dev/null; touch done; exit 0"),
            ("twin", "test -t 0 || tty; stty 2>/dev/null; touch done; exit 0"),
        ];
        let cells = field.play(&attempts);
        cells["terminal"].had_no_effect(&field).said("TIOCSTI errno 1");
        cells["twin"].is_valid();
    }
}
