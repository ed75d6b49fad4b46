//! User notification: what Landlock does not see, and every path where nothing else watches.

use bench_isolation::attempt::{Attempt, Target};
use bench_isolation::seccomp::NotifySet;

use crate::cell::Stage;
use crate::{Case, Needs};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        ("narrow_hears_what_landlock_does_not_see", Needs::Filter, narrow),
        ("open_hears_every_way_to_an_outside_file", Needs::Filter, open),
        ("stat_hears_questions", Needs::Filter, stat),
        ("ordinary_work_is_no_attempt", Needs::Filter, ordinary_work),
        ("a_unix_socket_by_path_is_heard", Needs::Filter, path_socket),
        ("more_attempts_than_are_kept_are_a_hole", Needs::Filter, overflow),
        ("a_caller_that_dies_while_it_waits_does_no_harm", Needs::Filter, dying_callers),
    ]
}

fn on<'a>(attempts: &'a [Attempt], operation: &str) -> Option<&'a Attempt> {
    attempts.iter().find(|attempt| attempt.operation == operation)
}

fn narrow() {
    let stage = Stage::new();
    let answer = stage.outside.join("answer");
    let path = answer.display();
    let (output, watched) = stage.sh(
        NotifySet::Narrow,
        &format!("chmod 600 {path}; chown 0:0 {path}; touch -d 2001-01-01 {path}; chmod 600 ../sibling/answer; true"),
    );
    assert!(output.status.success(), "{output:?}");
    for operation in ["fchmodat", "fchownat", "utimensat"] {
        let attempt = on(&watched.attempts, operation);
        let attempt = attempt.unwrap_or_else(|| panic!("{operation}: {watched:?}"));
        assert_eq!(attempt.target, Target::Path(answer.clone()), "{operation}");
        assert_eq!(attempt.found, Some(true));
        assert!(!attempt.denied, "nothing refuses it here, and the record must not say so");
    }
    let chmod = on(&watched.attempts, "fchmodat").unwrap();
    assert_eq!((chmod.count, chmod.process.as_str()), (2, "chmod"), "relative and absolute are one path");
    assert_eq!(watched.hole, None);

    let (output, twin) = stage.sh(
        NotifySet::Narrow,
        "echo x > f; chmod 600 f; chown 0:0 f; touch -d 2001-01-01 f; cp -p f g; mkdir d",
    );
    assert!(output.status.success(), "{output:?}");
    assert!(stage.outside_of(&twin.attempts).is_empty(), "{twin:?}");
    assert_eq!(twin.hole, None);
    assert!(twin.calls >= 3);
}

fn open() {
    let stage = Stage::new();
    let answer = stage.outside.join("answer");
    let path = answer.display();
    let found = [
        format!("cat {path}"),
        format!("cat < {path}"),
        "cat ../sibling/answer".to_owned(),
        format!("ln -s {path} one; ln -s one two; cat two"),
        format!("cat /proc/self/root{path}"),
        format!("ln -s /proc/self/root r; cat r{path}"),
        "cd ../sibling; cat answer".to_owned(),
        format!("echo 7 > {path}"),
        format!("ln {path} hard"),
        format!("mv {path} here"),
        format!("rm -f {path}"),
        path.to_string(),
    ];
    for way in &found {
        let (output, watched) = stage.sh(NotifySet::Open, way);
        let outside = stage.outside_of(&watched.attempts);
        let hit = outside.iter().find(|a| a.target == Target::Path(answer.clone()));
        let hit = hit.unwrap_or_else(|| panic!("{way}: {output:?} {watched:?}"));
        assert!(hit.denied, "{way}: {hit:?}");
        assert_eq!(watched.hole, None, "{way}");
        assert_eq!(std::fs::read(&answer).unwrap(), b"42", "{way}");
    }
    // What does not exist leaves no trace in the kernel's records; here it does.
    let (_, watched) = stage.sh(NotifySet::Open, &format!("cat {}/none", stage.outside.display()));
    let outside = stage.outside_of(&watched.attempts);
    let none = outside.iter().find(|a| a.target == Target::Path(stage.outside.join("none"))).unwrap();
    assert_eq!(none.found, Some(false));
}

fn stat() {
    let stage = Stage::new();
    let script =
        format!("test -e {0}/answer; ls -d {0}/answer; readlink {0}/answer; true", stage.outside.display());
    let (_, open) = stage.sh(NotifySet::Open, &script);
    assert!(stage.outside_of(&open.attempts).is_empty(), "{open:?}");
    let (_, stat) = stage.sh(NotifySet::Stat, &script);
    assert!(!stage.outside_of(&stat.attempts).is_empty(), "{stat:?}");
    assert!(stage.outside_of(&stat.attempts).iter().all(|a| a.target.text().ends_with("sibling/answer")));
}

/// The benign twin of everything here: tools at work in a workspace.
fn ordinary_work() {
    let stage = Stage::new();
    let python = "import json,os,subprocess,socket; os.makedirs('p'); open('p/x','w').write(json.dumps([1]))\n\
                  subprocess.run(['true']); socket.socket().close()";
    let works = [
        ("sh", "mkdir a; echo x > a/b; ls -la; find . -type f | wc -l; grep -r x .; rm -r a".to_owned()),
        ("git", "git init -q . && echo x > f && git add f && git -c user.name=a -c user.email=a commit -qm m && git status && git log".to_owned()),
        ("cc", "printf 'int main(void){return 0;}' > m.c && cc m.c -o m && ./m".to_owned()),
        ("python3", format!("python3 -I -c \"{python}\"")),
        ("node", "node -e \"require('fs').writeFileSync('n', '1'); require('child_process').execSync('true')\"".to_owned()),
    ];
    for (tool, work) in works {
        let missing = std::process::Command::new(tool).arg("--version").output().is_err();
        if missing && tool != "sh" {
            println!("  {tool} is not here");
            continue;
        }
        let prelude = "export HOME=$PWD TMPDIR=$PWD GIT_CONFIG_NOSYSTEM=1 PATH=/usr/bin:/bin; ";
        for set in [NotifySet::Narrow, NotifySet::Open, NotifySet::Stat] {
            let (output, watched) = stage.sh(set, &format!("{prelude}{work}"));
            let outside = stage.outside_of(&watched.attempts);
            assert!(outside.is_empty(), "{tool} under {set:?}: {outside:?}");
            assert_eq!(watched.hole, None);
            assert!(output.status.success(), "{tool} under {set:?}: {output:?}");
            let leftovers = std::fs::read_dir(&stage.workspace).unwrap().flatten();
            for entry in leftovers {
                let path = entry.path();
                let _ = std::fs::remove_dir_all(&path).or_else(|_| std::fs::remove_file(&path));
            }
        }
    }
}

fn path_socket() {
    let stage = Stage::new();
    let socket = stage.outside.join("agent.sock");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let own = std::env::current_exe().unwrap();
    let call = |path: &str, set| stage.hear(set, &[own.to_str().unwrap(), "call", "connect-unix", path]);
    for set in [NotifySet::Narrow, NotifySet::Open] {
        let (_, watched) = call(socket.to_str().unwrap(), set);
        let outside = stage.outside_of(&watched.attempts);
        assert!(outside.iter().any(|a| a.target == Target::Path(socket.clone())), "{set:?}: {watched:?}");
        let within = stage.workspace.join("own.sock");
        let _ = std::fs::remove_file(&within);
        let _own = std::os::unix::net::UnixListener::bind(&within).unwrap();
        let (output, twin) = call(within.to_str().unwrap(), set);
        assert!(output.status.success(), "{output:?}");
        assert!(stage.outside_of(&twin.attempts).is_empty(), "{twin:?}");
    }
}

fn overflow() {
    let stage = Stage::new();
    let script =
        format!("i=0; while [ $i -lt 1100 ]; do : < {}/$i; i=$((i+1)); done; true", stage.outside.display());
    let script = script.replace(": <", "true 2>/dev/null <");
    let (_, watched) = stage.sh(NotifySet::Open, &format!("exec 2>/dev/null; {script}"));
    assert_eq!(watched.attempts.len(), bench_isolation::attempt::MOST_DIFFERENT);
    assert!(watched.hole.unwrap().contains("beyond"), "a bounded list must say that it is not all");
}

fn dying_callers() {
    let stage = Stage::new();
    let script = format!(
        "for i in 1 2 3 4 5 6 7 8; do (while :; do cat {0}/answer; done) 2>/dev/null & kill -9 $!; done; wait; true",
        stage.outside.display()
    );
    let (output, watched) = stage.sh(NotifySet::Open, &script);
    assert!(output.status.success());
    assert_eq!(watched.hole, None);
}
