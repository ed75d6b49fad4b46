//! Everything that is no file: network, signals, environment, descriptors, capabilities, and the evidence of it.

use std::net::TcpListener;
use std::os::fd::AsRawFd;

use crate::stage::{Stage, level, namespaces, text};
use crate::{Case, Needs};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        ("only_the_allowed_port_is_reached", Needs::Abi(4), ports),
        ("the_environment_is_what_was_passed", Needs::Landlock, environment),
        ("no_descriptor_is_inherited", Needs::Landlock, descriptors),
        ("no_capability_is_left", Needs::Landlock, capabilities),
        ("launcher_and_harness_are_out_of_reach", Needs::Landlock, processes),
        ("abstract_sockets_outside_are_refused", Needs::Abi(6), abstract_sockets),
        ("the_evidence_says_what_holds_and_what_does_not", Needs::Landlock, evidence),
        ("two_cells_at_once_do_not_share_an_answer", Needs::Landlock, two_cells),
    ]
}

fn abi_at_least(abi: u32) -> bool {
    bench_isolation::reachable().landlock_abi.is_some_and(|here| here >= abi)
}

fn ports() {
    let stage = Stage::new();
    if namespaces() {
        return own_door(&stage);
    }
    let (allowed, other) =
        (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
    let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
    for (policy, to, expected) in [
        (Some(port(&allowed)), port(&allowed), "connected\n"),
        (Some(port(&allowed)), port(&other), "PermissionDenied\n"),
        (None, port(&allowed), "PermissionDenied\n"),
    ] {
        let mut spec = stage.agent(&["connect", &to.to_string()]);
        spec.policy.connect_port = policy;
        assert_eq!(text(&stage.run(spec).stdout.head), expected);
    }
    let mut spec = stage.agent(&["listen"]);
    spec.policy.connect_port = Some(port(&allowed));
    assert_eq!(text(&stage.run(spec).stdout.head), "Some(PermissionDenied)\n");
}

/// In a network of its own a cell has the one listener that was handed out, and nothing of the host's.
fn own_door(stage: &Stage) {
    let host = TcpListener::bind("127.0.0.1:0").unwrap();
    let host_port = host.local_addr().unwrap().port();
    let port = stage.launcher.own_port(None).unwrap();
    for (to, expected) in [(port, "connected\n"), (host_port, "PermissionDenied\n")] {
        let mut spec = stage.agent(&["connect", &to.to_string()]);
        spec.policy.connect_port = Some(port);
        let exit = stage.runtime.block_on(async {
            let mut prepared = stage.launcher.prepare(spec).await.unwrap();
            let listener = prepared.take_listener().unwrap();
            assert_eq!(listener.local_addr().unwrap().port(), port);
            let mut cell = prepared.start().await.unwrap();
            cell.wait().await.unwrap()
        });
        assert_eq!(text(&exit.stdout.head), expected);
        assert_eq!(exit.isolation.outside_accesses(), Some(u64::from(to == host_port)));
    }
    assert!(stage.launcher.own_port(Some(4321)) == Some(4321));
}

fn environment() {
    let stage = Stage::new();
    let mut spec = stage.agent(&["environment"]);
    spec.env = [("ONE".to_owned(), "1".to_owned())].into();
    assert_eq!(text(&stage.run(spec).stdout.head), "ONE\n");
}

fn descriptors() {
    let stage = Stage::new();
    // A descriptor of the harness that is not closed at exec, as a careless library would leave it.
    let file = std::fs::File::open(stage.outside_file()).unwrap();
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
    assert!(file.as_raw_fd() > 2);
    let late = Stage::new();
    let exit = late.run(late.agent(&["descriptors"]));
    let listing = text(&exit.stdout.head);
    let lines: Vec<&str> = listing.lines().collect();
    assert_eq!(lines.len(), 3, "{listing}");
    assert_eq!(lines[0], "0 /dev/null");
    assert!(lines[1].starts_with("1 pipe:") && lines[2].starts_with("2 pipe:"), "{listing}");
}

fn capabilities() {
    let stage = Stage::new();
    let status = stage.stdout_of("cat /proc/self/status");
    let field = |name: &str| {
        status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(":\t")).unwrap().to_owned()
    };
    let mut sets = vec!["CapInh", "CapPrm", "CapEff", "CapAmb"];
    if rustix::process::geteuid().is_root() {
        sets.push("CapBnd");
    }
    for set in sets {
        assert_eq!(field(set), "0000000000000000", "{set}");
    }
    assert_eq!(field("NoNewPrivs"), "1");
}

fn processes() {
    let stage = Stage::new();
    for pid in [stage.launcher.pid(), std::process::id()] {
        for way in ["cat environ", "cat maps", "head -c 1 mem", "ls root/", "ls cwd/", "readlink exe"] {
            let exit = stage.run(stage.script(&format!("cd /proc/{pid} && {way}")));
            assert_ne!(exit.exit_code, Some(0), "{way} in /proc/{pid}");
            assert_eq!(text(&exit.stdout.head), "", "{way} in /proc/{pid}");
        }
        if abi_at_least(6) {
            let exit = stage.run(stage.agent(&["signal", &pid.to_string()]));
            let answer = if namespaces() { "Err(Os { code: 3," } else { "Err(Os { code: 1," };
            assert!(text(&exit.stdout.head).starts_with(answer), "{}", text(&exit.stdout.head));
        }
    }
}

fn abstract_sockets() {
    use std::os::linux::net::SocketAddrExt;
    let stage = Stage::new();
    let name = format!("bench-walls-{}", std::process::id());
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind_addr(&address).unwrap();
    let exit = stage.run(stage.agent(&["abstract", &name]));
    let answer = if namespaces() { "Some(ConnectionRefused)\n" } else { "Some(PermissionDenied)\n" };
    assert_eq!(text(&exit.stdout.head), answer);
}

fn evidence() {
    let stage = Stage::new();
    let mut cell = stage.launch(stage.script("true")).unwrap();
    let so_far = cell.isolation_so_far();
    let evidence = stage.runtime.block_on(cell.wait()).unwrap().isolation;
    assert_eq!((so_far.probes, so_far.quiescent), (evidence.probes.clone(), false));
    assert_eq!(evidence.level, level());
    assert_eq!(evidence.landlock_abi, bench_isolation::reachable().landlock_abi);
    assert_eq!((evidence.detector.as_str(), evidence.evidence_complete), ("notify-open", Some(true)));
    assert!(evidence.quiescent && evidence.survivors_killed == 0);
    assert!(evidence.enforced.iter().all(|phrase| evidence.requested.contains(phrase)));
    assert!(
        evidence.probes.iter().any(|probe| probe == "1 hidden paths cannot be opened"),
        "{:?}",
        evidence.probes
    );
    assert_eq!(evidence.missing.iter().any(|gap| gap.contains("no pid namespace")), !namespaces());
    assert_eq!(evidence.enforced.iter().any(|phrase| phrase == "tcp: none"), abi_at_least(4));
}

fn two_cells() {
    let stage = Stage::new();
    let mut other_slot = stage.slots.take().unwrap();
    let other = other_slot.fresh(None).unwrap();
    // Each waits for the other's sign in its own workspace, so both must run at the same time.
    let script = "touch started; while [ ! -e go ]; do sleep 0.01; done; cat \"$0\"";
    let mut specs = [stage.script(script), stage.script(script)];
    specs[1].cwd = other.root().to_owned();
    specs[1].policy.writable = other.writable();
    let secret = |root: &std::path::Path| root.join("secret");
    std::fs::write(secret(stage.workspace.root()), "one").unwrap();
    std::fs::write(secret(other.root()), "two").unwrap();
    specs[0].args.push(secret(other.root()).display().to_string());
    specs[1].args.push(secret(stage.workspace.root()).display().to_string());
    let [first, second] = specs;
    stage.runtime.block_on(async {
        let (mut first, mut second) =
            (stage.launcher.launch(first).await.unwrap(), stage.launcher.launch(second).await.unwrap());
        for root in [stage.workspace.root(), other.root()] {
            std::fs::write(root.join("go"), "").unwrap();
        }
        for cell in [&mut first, &mut second] {
            let exit = cell.wait().await.unwrap();
            assert_eq!(text(&exit.stdout.head), "");
            assert_ne!(exit.exit_code, Some(0));
        }
    });
}
