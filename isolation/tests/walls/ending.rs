//! How cells end: by themselves, by a limit, on request, with the harness; and that nothing of them stays.

use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};

use bench_core::IsolationLevel;
use bench_isolation::{LaunchError, Stop};

use crate::stage::{Stage, await_end_of, is_alive, level, read_pid, text};
use crate::{Case, Needs};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        ("exit_code_and_signal_are_told", Needs::Landlock, exit_code_and_signal),
        ("daemons_of_every_kind_are_ended", Needs::Landlock, daemons),
        ("a_respawner_is_ended", Needs::Landlock, respawner),
        ("the_wall_limit_ends_a_cell_that_ignores_sigterm", Needs::Landlock, wall_limit),
        ("sigterm_leaves_time_to_tidy_up", Needs::Landlock, grace),
        ("the_output_cap_ends_a_cell_and_both_ends_are_kept", Needs::Landlock, output_cap),
        ("a_cell_is_ended_on_request_or_when_dropped", Needs::Landlock, on_request),
        ("usage_of_the_whole_tree_is_told", Needs::Landlock, usage),
        ("a_supervisor_serves_again_and_counts_each_cell_by_itself", Needs::Landlock, serves_again),
        ("a_supervisor_that_had_to_end_somebody_serves_nobody_after", Needs::Landlock, serves_nobody_after),
        ("a_control_group_holds_a_cell_and_goes_with_the_launcher", Needs::Landlock, control_group),
        ("cells_end_with_the_harness", Needs::Landlock, with_the_harness),
        ("cells_end_with_the_launcher", Needs::Landlock, with_the_launcher),
        ("a_killed_supervisor_leaves_nothing", Needs::Landlock, with_the_supervisor),
        ("orders_to_a_dead_launcher_fail", Needs::Landlock, dead_launcher),
        ("the_hidden_subcommand_by_hand_says_so", Needs::Nothing, by_hand),
    ]
}

fn exit_code_and_signal() {
    let stage = Stage::new();
    let exit = stage.run(stage.script("exit 7"));
    assert_eq!((exit.exit_code, exit.signal, exit.stopped_by), (Some(7), None, None));
    let exit = stage.run(stage.script("kill -SEGV $$"));
    assert_eq!((exit.exit_code, exit.signal, exit.stopped_by), (None, Some(11), None));
    let exit = stage.run(stage.script("yes | head -n 1"));
    assert_eq!(
        (exit.exit_code, text(&exit.stderr.head).as_str()),
        (Some(0), ""),
        "SIGPIPE has its usual effect"
    );
}

/// Waits in the script, not by time: the leader ends only when every daemon has written its id.
const AWAIT: &str = "for f in a b c; do while [ ! -s $f ]; do sleep 0.01; done; done";

fn daemons() {
    let stage = Stage::new();
    let exit = stage.run(stage.script(&format!(
        "(setsid sh -c 'trap \"\" TERM HUP; echo $$ > a; while :; do sleep 1000; done' &) & \
         setsid sh -c 'setsid sh -c \"echo \\$\\$ > b; exec sleep 1000\" & echo $$ > c; exec sleep 1000' & {AWAIT}"
    )));
    assert_eq!(exit.exit_code, Some(0));
    assert_eq!(stage.processes_inside(), Vec::<String>::new());
    assert!(exit.isolation.survivors_killed >= 3, "{}", exit.isolation.survivors_killed);
    assert!(exit.isolation.quiescent);
}

fn respawner() {
    let stage = Stage::new();
    // Each generation starts the next in a session of its own and ends.
    let script = "cat > respawn <<'END'\n: > up\nsetsid sh ./respawn &\nEND\n\
                  for i in 1 2 3; do setsid sh ./respawn & done; while [ ! -e up ]; do sleep 0.01; done";
    let exit = stage.run(stage.script(script));
    assert!(exit.isolation.quiescent);
    assert_eq!(stage.processes_inside(), Vec::<String>::new());
}

fn wall_limit() {
    let stage = Stage::new();
    let mut spec = stage.script("trap '' TERM; echo $$ > leader; while :; do sleep 1000; done");
    spec.wall_ms = 300;
    let exit = stage.run(spec);
    assert_eq!((exit.stopped_by, exit.signal), (Some(Stop::WallLimit), Some(9)));
    assert_eq!(stage.processes_inside(), Vec::<String>::new());
    assert!(exit.wall_ms >= 300.0);
}

fn grace() {
    let stage = Stage::new();
    let script = "trap 'echo tidied; exit 3' TERM; echo ready; while :; do sleep 0.01; done";
    let mut spec = stage.script(script);
    spec.wall_ms = 300;
    let exit = stage.run(spec);
    assert_eq!(exit.stopped_by, Some(Stop::WallLimit));
    assert_eq!((exit.exit_code, text(&exit.stdout.head).as_str()), (Some(3), "ready\ntidied\n"));
}

fn output_cap() {
    let stage = Stage::new();
    let mut spec = stage.script("echo first; exec yes");
    spec.output_cap_bytes = 2 << 20;
    let exit = stage.run(spec);
    assert_eq!(exit.stopped_by, Some(Stop::OutputCap));
    assert!(exit.stdout.head.starts_with(b"first\ny\n"));
    assert_eq!((exit.stdout.head.len(), exit.stdout.tail.len()), (256 * 1024, 256 * 1024));
    assert!(exit.stdout.total_bytes > 2 << 20 && exit.stdout.omitted() > 0);
}

fn on_request() {
    let stage = Stage::new();
    let script = "echo $$ > leader; exec sleep 1000";
    let mut cell = stage.launch(stage.script(script)).unwrap();
    // Its supervisor reads the first wish and leaves the others unread, which resets the connection behind its reports.
    (0..3).for_each(|_| cell.kill());
    let exit = stage.runtime.block_on(cell.wait()).unwrap();
    assert_eq!((exit.stopped_by, exit.signal), (Some(Stop::Asked), Some(15)));
    let cell = stage.launch(stage.script("echo $$ > dropped; echo up; exec sleep 1000")).unwrap();
    while !stage.in_workspace("dropped").metadata().is_ok_and(|meta| meta.len() > 0) {
        std::thread::yield_now();
    }
    let pid = stage.host_pid(read_pid(&stage.in_workspace("dropped")));
    drop(cell);
    await_end_of(pid);
}

fn usage() {
    let stage = Stage::new();
    // A background child of a child: counted because the supervisor reaps everybody.
    let exit = stage.run(stage.script("sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done & wait'"));
    assert!(exit.cpu_ms > 1.0, "{}", exit.cpu_ms);
    assert!(exit.peak_rss_bytes > 100_000, "{}", exit.peak_rss_bytes);
    assert!(exit.wall_ms > 0.0);
}

/// Supervisors that wait for a cell or have one.
fn supervisors(stage: &Stage) -> Vec<String> {
    let pid = stage.launcher.pid();
    let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    list.split_ascii_whitespace().map(str::to_owned).collect()
}

fn serves_again() {
    let stage = Stage::new();
    let large = stage.run(stage.script(
        "x=$(head -c 40000000 /dev/zero | tr '\\0' a); i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done",
    ));
    let first = supervisors(&stage);
    for _ in 0..5 {
        let small = stage.run(stage.script("exit 3"));
        assert_eq!((small.exit_code, small.isolation.quiescent), (Some(3), true));
        assert!(small.cpu_ms < large.cpu_ms / 2.0, "{} after {}", small.cpu_ms, large.cpu_ms);
        assert!(small.peak_rss_bytes < large.peak_rss_bytes / 2, "{}", small.peak_rss_bytes);
    }
    let then = supervisors(&stage);
    assert!(!first.is_empty() && first.iter().all(|pid| then.contains(pid)), "{first:?}, then {then:?}");
}

fn serves_nobody_after() {
    let stage = Stage::new();
    let exit = stage.run(stage.script(&format!(
        "for f in a b c; do setsid sh -c \"echo \\$\\$ > $f; exec sleep 1000\" & done; {AWAIT}; echo $PPID"
    )));
    assert!(exit.isolation.survivors_killed >= 3);
    let parent = text(&exit.stdout.head);
    for _ in 0..3 {
        let next = stage.run(stage.script("echo $PPID"));
        assert_eq!((next.exit_code, next.isolation.survivors_killed), (Some(0), 0));
        // In a pid namespace every cell's init is process 1.
        assert!(level() > IsolationLevel::L1 || text(&next.stdout.head) != parent);
    }
}

fn control_group() {
    let stage = Stage::new();
    let exit = stage.run(stage.script("cat /proc/self/cgroup; sleep 1000 &"));
    let held = exit.isolation.enforced.iter().any(|line| line.starts_with("control group: "));
    let missed = exit.isolation.missing.iter().any(|line| line.starts_with("control group: none ("));
    assert_ne!(held, missed, "{:#?}", exit.isolation);
    assert!(exit.isolation.quiescent);
    let (seen, run) = (text(&exit.stdout.head), format!("bench-{}-", stage.launcher.pid()));
    match level() {
        bench_core::IsolationLevel::L0 | bench_core::IsolationLevel::L1 => {
            assert_eq!(held, seen.contains(&format!("/{run}")), "{seen}");
        }
        // What it is in is the root of what it sees.
        bench_core::IsolationLevel::L2 | bench_core::IsolationLevel::L3 => {
            let own = seen.lines().find(|line| line.starts_with("0::"));
            assert!(own.is_none_or(|line| line == "0::/"), "{seen}");
        }
    }
    drop(stage);
    for place in bench_isolation::reachable().control_groups {
        let dir = std::path::Path::new(place.split(" (").next().unwrap());
        let left = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let names: Vec<_> = left.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        assert!(!names.iter().any(|name| name.starts_with(&run)), "{}: {names:?}", dir.display());
    }
}

/// A harness that starts a cell with a daemon, tells their ids and waits to be killed.
pub(crate) fn harness_to_be_killed(args: &[String]) -> ExitCode {
    if args == ["L2"] {
        crate::stage::play_at(bench_core::IsolationLevel::L2);
    }
    let stage = Stage::new();
    let script = "setsid sh -c 'trap \"\" TERM; echo $$ > daemon; while :; do sleep 1000; done' & \
                  while [ ! -s daemon ]; do sleep 0.01; done; echo $$ > leader; exec sleep 1000";
    let _cell = stage.launch(stage.script(script)).unwrap();
    while !stage.in_workspace("leader").metadata().is_ok_and(|meta| meta.len() > 0) {
        std::thread::yield_now();
    }
    for name in ["leader", "daemon"] {
        println!("{}", stage.host_pid(read_pid(&stage.in_workspace(name))));
    }
    println!("{}", stage.launcher.pid());
    println!("{}", stage.dir.path().display());
    loop {
        std::thread::park();
    }
}

fn with_the_harness() {
    let mut harness = Command::new("/proc/self/exe")
        .args(["harness", level().word()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines: Vec<String> =
        BufReader::new(harness.stdout.take().unwrap()).lines().take(4).collect::<Result<_, _>>().unwrap();
    let pids: Vec<i32> = lines[..3].iter().map(|line| line.parse().unwrap()).collect();
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    harness.kill().unwrap();
    harness.wait().unwrap();
    pids.into_iter().for_each(await_end_of);
    std::fs::remove_dir_all(&lines[3]).unwrap();
}

/// A running cell with a leader and a daemon of its own session.
fn cell_with_daemon(stage: &Stage) -> (bench_isolation::RunningCell, [i32; 2]) {
    let script = "setsid sh -c 'trap \"\" TERM; echo $$ > daemon; while :; do sleep 1000; done' & \
                  while [ ! -s daemon ]; do sleep 0.01; done; echo $$ > leader; exec sleep 1000";
    let cell = stage.launch(stage.script(script)).unwrap();
    while !stage.in_workspace("leader").metadata().is_ok_and(|meta| meta.len() > 0) {
        std::thread::yield_now();
    }
    let pids = ["leader", "daemon"].map(|name| stage.host_pid(read_pid(&stage.in_workspace(name))));
    (cell, pids)
}

fn kill_outright(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

fn with_the_launcher() {
    let stage = Stage::new();
    let (mut cell, pids) = cell_with_daemon(&stage);
    kill_outright(i32::try_from(stage.launcher.pid()).unwrap());
    let error = stage.runtime.block_on(cell.wait()).map(drop).unwrap_err();
    assert!(matches!(error, LaunchError::LauncherDied { .. }), "{error}");
    pids.into_iter().for_each(await_end_of);
}

fn with_the_supervisor() {
    let stage = Stage::new();
    let (mut cell, pids) = cell_with_daemon(&stage);
    let status = std::fs::read_to_string(format!("/proc/{}/status", pids[0])).unwrap();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:\t")).unwrap();
    kill_outright(parent.parse().unwrap());
    let has_init = level() > IsolationLevel::L1;
    match stage.runtime.block_on(cell.wait()) {
        // The cell's own init: whoever brings it down has ended his cell.
        Ok(exit) => assert_eq!((has_init, exit.exit_code, exit.signal), (true, None, Some(9))),
        Err(error) => assert!(!has_init && matches!(error, LaunchError::LauncherDied { .. }), "{error}"),
    }
    pids.into_iter().for_each(await_end_of);
    assert_eq!(stage.run(stage.script("exit 0")).exit_code, Some(0), "the launcher still works");
}

fn dead_launcher() {
    let stage = Stage::new();
    let pid = i32::try_from(stage.launcher.pid()).unwrap();
    kill_outright(pid);
    await_end_of(pid);
    let error = stage.launch(stage.script("true")).map(drop).unwrap_err();
    assert!(matches!(error, LaunchError::LauncherDied { .. }), "{error}");
}

fn by_hand() {
    let output = Command::new("/proc/self/exe").arg("sandbox-exec").stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(70));
    assert!(text(&output.stderr).contains("for the harness alone"));
}
