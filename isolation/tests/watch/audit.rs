//! The audit tap: every refusal of an existing outside object is recorded, and the record is closed by the kernel.

use bench_isolation::attempt::{Act, Target};
use bench_isolation::audit::{self, AuditTap, Heard, NoTap, switch};

use crate::cell::Stage;
use crate::{Case, Needs};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        ("auditing_is_never_switched_on_unasked", Needs::Audit, unasked),
        ("what_is_switched_is_put_back", Needs::Audit, put_back),
        ("refusals_are_recorded_and_the_count_closes", Needs::Audit, closes),
        ("ordinary_work_leaves_no_record", Needs::Audit, ordinary_work),
        ("two_cells_at_once_are_kept_apart", Needs::Audit, two_cells),
        ("a_nested_domain_cannot_mask_attempts", Needs::Audit, masking),
        ("a_flood_is_counted_or_named", Needs::Audit, flood),
        ("a_canary_that_never_comes_is_a_hole", Needs::Audit, no_canary),
        ("a_domain_that_lives_on_is_a_hole", Needs::Audit, lives_on),
    ]
}

/// Auditing as the operator would have switched it, put back when this ends.
struct Switched(switch::Applied);

impl Switched {
    fn on() -> Self {
        let plan = switch::fix_plan().unwrap();
        Self(switch::apply(&plan).unwrap())
    }
}

impl Drop for Switched {
    fn drop(&mut self) {
        switch::restore(&self.0).unwrap();
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Runs a program as a cell under a tap.
fn heard(program: impl FnOnce(&Stage) -> Vec<String>) -> (Stage, Heard) {
    let tap = AuditTap::start().unwrap();
    let nonce = audit::nonce().unwrap();
    let stage = Stage::with_canary(&nonce);
    let watch = tap.expect(&nonce);
    let program = program(&stage);
    let program: Vec<&str> = program.iter().map(String::as_str).collect();
    stage.start(&program).wait_with_output().unwrap();
    let heard = runtime().block_on(watch.settle());
    (stage, heard)
}

fn sh(script: String) -> Vec<String> {
    vec!["/bin/sh".to_owned(), "-c".to_owned(), script]
}

fn unasked() {
    let before = switch::state().unwrap();
    if before.enabled == 0 {
        assert!(matches!(AuditTap::start(), Err(NoTap::Off)));
        assert!(!switch::fix_plan().unwrap().changes.is_empty());
    }
    assert_eq!(switch::state().unwrap().enabled, before.enabled);
}

fn put_back() {
    let before = switch::state().unwrap();
    let switched = Switched::on();
    assert_ne!(switch::state().unwrap().enabled, 0);
    assert_eq!(switch::fix_plan().unwrap().changes, Vec::<String>::new(), "nothing is left to be done");
    drop(switched);
    let after = switch::state().unwrap();
    assert_eq!((after.enabled, after.backlog_limit), (before.enabled, before.backlog_limit));
}

fn closes() {
    let _on = Switched::on();
    let (stage, heard) = heard(|stage| {
        let path = stage.outside.join("answer");
        sh(format!(
            "cat {0}; cat {0}; echo 7 > {0}; ls {1}; kill -0 1",
            path.display(),
            stage.outside.display()
        ))
    });
    assert_eq!(heard.hole, None, "{heard:?}");
    assert_eq!(heard.denials, Some(heard.records));
    let answer = Target::Path(stage.outside.join("answer"));
    let reads = heard.attempts.iter().find(|a| a.operation == "fs.read_file").unwrap();
    assert_eq!((&reads.target, reads.count, reads.denied), (&answer, 2, true));
    assert!(heard.attempts.iter().any(|a| a.act == Act::Write && a.target == answer), "{heard:?}");
    assert!(heard.attempts.iter().any(|a| a.operation == "fs.read_dir"));
    assert!(heard.attempts.iter().any(|a| a.operation == "scope.signal" && a.act == Act::Control));
    assert_eq!(stage.outside_of(&heard.attempts).len(), heard.attempts.len());
    // System calls of users of cells alone are followed, and this one is nobody's.
    assert!(heard.attempts.iter().all(|attempt| attempt.process.is_empty()));
}

fn ordinary_work() {
    let _on = Switched::on();
    let (stage, heard) = heard(|_| {
        sh("mkdir d; echo x > d/f; ls -la; cat d/f; rm -r d; export HOME=$PWD GIT_CONFIG_NOSYSTEM=1; \
            git init -q g; printf 'int main(void){return 0;}' > m.c; TMPDIR=$PWD cc m.c -o m; ./m"
            .to_owned())
    });
    assert_eq!(heard.hole, None);
    assert!(stage.outside_of(&heard.attempts).is_empty(), "{heard:?}");
}

fn two_cells() {
    let _on = Switched::on();
    let tap = AuditTap::start().unwrap();
    let started: Vec<_> = (0..2)
        .map(|_| {
            let nonce = audit::nonce().unwrap();
            let stage = Stage::with_canary(&nonce);
            let watch = tap.expect(&nonce);
            let script = format!("cat {}", stage.outside.join("answer").display());
            let child = stage.start(&["/bin/sh", "-c", &script]);
            (stage, watch, child)
        })
        .collect();
    for (stage, watch, child) in started {
        child.wait_with_output().unwrap();
        let heard = runtime().block_on(watch.settle());
        assert_eq!(heard.hole, None);
        let targets: Vec<&Target> = heard.attempts.iter().map(|a| &a.target).collect();
        assert_eq!(targets, [&Target::Path(stage.outside.join("answer"))]);
    }
}

/// Without the rule against nesting, these reads left no record at all.
fn masking() {
    let _on = Switched::on();
    let own = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    let (stage, heard) = heard(|stage| {
        let path = stage.outside.join("answer").to_str().unwrap().to_owned();
        vec![own, "call".to_owned(), "nest-and-read".to_owned(), path]
    });
    assert_eq!(heard.hole, None);
    let answer = Target::Path(stage.outside.join("answer"));
    let reads = heard.attempts.iter().find(|a| a.target == answer);
    assert_eq!(reads.map(|a| a.count), Some(3), "{heard:?}");
}

fn flood() {
    const READS: u64 = 20_000;
    let _on = Switched::on();
    let (stage, heard) = heard(|stage| {
        let path = stage.outside.join("answer");
        let loop_ = format!("i=0; while [ $i -lt {READS} ]; do true < {}; i=$((i+1)); done", path.display());
        sh(format!("exec 2>/dev/null; {loop_}"))
    });
    let answer = Target::Path(stage.outside.join("answer"));
    let count = heard.attempts.iter().find(|a| a.target == answer).map_or(0, |a| a.count);
    match &heard.hole {
        None => assert_eq!(count, READS),
        Some(hole) => assert!(hole.contains("denials"), "{hole}"),
    }
}

fn no_canary() {
    let _on = Switched::on();
    let tap = AuditTap::start().unwrap();
    let watch = tap.expect(&audit::nonce().unwrap());
    let heard = runtime().block_on(watch.settle());
    assert!(heard.hole.unwrap().contains("canary"));
}

fn lives_on() {
    let _on = Switched::on();
    let tap = AuditTap::start().unwrap();
    let nonce = audit::nonce().unwrap();
    let stage = Stage::with_canary(&nonce);
    let watch = tap.expect(&nonce);
    let script = "setsid sleep 60 >/dev/null 2>&1 & echo $!";
    let output = stage.start(&["/bin/sh", "-c", script]).wait_with_output().unwrap();
    let heard = runtime().block_on(watch.settle());
    let left: i32 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
    let left = rustix::process::Pid::from_raw(left).unwrap();
    let _ = rustix::process::kill_process(left, rustix::process::Signal::KILL);
    assert!(heard.hole.unwrap().contains("did not end"));
}
