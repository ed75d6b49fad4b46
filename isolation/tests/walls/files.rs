//! Files: the workspace works, everything else is refused, and what must stay hidden stops the cell.

use std::os::unix::fs::PermissionsExt;

use bench_core::Program;
use bench_isolation::{CollectCaps, LaunchError, Why};

use crate::stage::{Stage, namespaces, text};
use crate::{Case, Needs};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        ("a_siblings_file_cannot_be_read", Needs::Landlock, siblings_file),
        ("nothing_outside_can_be_changed", Needs::Landlock, outside_unchanged),
        ("the_workspace_home_and_tmp_work", Needs::Landlock, workspace_works),
        ("shadow_and_private_keys_cannot_be_read", Needs::Landlock, system_secrets),
        ("ordinary_programs_run", Needs::Landlock, ordinary_programs),
        ("git_cc_python_and_node_run_where_they_are", Needs::Landlock, other_languages),
        ("a_hidden_path_below_a_grant_stops_the_cell", Needs::Landlock, hidden_below_grant),
        ("a_grant_of_everything_stops_the_cell", Needs::Landlock, grant_of_everything),
        ("a_granted_tree_is_readable_and_not_writable", Needs::Landlock, granted_tree),
        ("own_binary_runs_though_its_directory_is_hidden", Needs::Landlock, own_binary),
        ("a_program_that_is_missing_or_no_program_is_named", Needs::Landlock, not_executable),
        ("a_missing_grant_is_named", Needs::Landlock, missing_grant),
        ("what_is_collected_follows_no_link", Needs::Landlock, collect_what_an_agent_left),
    ]
}

fn siblings_file() {
    let stage = Stage::new();
    let outside = stage.outside_file();
    let path = outside.display();
    let ways = [
        format!("cat {path}"),
        format!("cat < {path}"),
        format!("ln -s {path} link; cat link"),
        format!("ln {path} hard; cat hard"),
        format!("cat /proc/self/root{path}"),
        format!("cd {}; cat answer.txt", outside.parent().unwrap().display()),
        format!("ls {}", outside.parent().unwrap().display()),
        format!("cat {}", stage.slots.decoy().display()),
        format!("cp {path} copy"),
    ];
    for way in ways {
        let exit = stage.run(stage.script(&way));
        assert_ne!(exit.exit_code, Some(0), "{way}");
        assert_eq!(text(&exit.stdout.head), "", "{way}");
    }
}

fn outside_unchanged() {
    let stage = Stage::new();
    let outside = stage.outside_file();
    let path = outside.display();
    for way in [
        format!("echo 7 > {path}"),
        format!("rm {path}"),
        format!("mv {path} here"),
        format!("touch {path}.new"),
        format!("touch mine; mv mine {path}"),
    ] {
        assert_ne!(stage.run(stage.script(&way)).exit_code, Some(0), "{way}");
    }
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "42");
    let exit = stage.run(stage.script("touch /tmp/left-by-an-agent"));
    assert_eq!(exit.exit_code == Some(0), namespaces(), "a /tmp of its own, or none");
    assert!(!std::path::Path::new("/tmp/left-by-an-agent").exists());
}

fn workspace_works() {
    let stage = Stage::new();
    let script = format!(
        "set -e; mkdir -p a/b; echo x > a/b/c; mv a/b/c a/d; ln -s d a/l; cat a/l; ln a/d a/e; rm -r a/b; \
         printf '#!/bin/sh\necho ran' > run; chmod +x run; ./run; : > run; mkfifo f; \
         echo y > {}/h; echo z > {}/t; umask; echo err > /dev/stderr",
        stage.seen().home.display(),
        stage.seen().tmp.display(),
    );
    let exit = stage.run(stage.script(&script));
    assert_eq!(text(&exit.stdout.head), "x\nran\n0077\n");
    assert_eq!(text(&exit.stderr.head), "err\n");
    assert_eq!(exit.exit_code, Some(0));
    assert!(!stage.in_workspace(".probe").exists(), "the probe leaves nothing");
}

fn system_secrets() {
    let stage = Stage::new();
    for path in [
        "/etc/shadow",
        "/etc/gshadow",
        "/etc",
        "/etc/ssl",
        "/etc/ssl/private",
        "/root",
        "/dev",
        "/var",
        "/home",
        "/",
    ] {
        let path = std::path::Path::new(path);
        if namespaces() && ["/etc", "/etc/ssl", "/dev"].map(std::path::Path::new).contains(&path) {
            // The cell's own, without what is secret on the host.
            continue;
        }
        // `ls` of a file only asks for its existence, which Landlock lets pass.
        let way = if path.is_dir() { "ls" } else { "cat" };
        let exit = stage.run(stage.script(&format!("{way} {}", path.display())));
        assert_ne!(exit.exit_code, Some(0), "{}", path.display());
    }
}

fn ordinary_programs() {
    let stage = Stage::new();
    let out = stage.stdout_of(
        "set -e; echo a | tee /dev/null | sort; dd if=/dev/zero bs=1 count=1 2>/dev/null | wc -c; \
         id -u >/dev/null; head -c 4 /dev/urandom | wc -c; cat <<END\nhere\nEND",
    );
    assert_eq!(out, "a\n1\n4\nhere\n");
}

fn other_languages() {
    let stage = Stage::new();
    let attempts = [
        (
            "git",
            "git init -q r && cd r && echo x > f && git add f && git -c user.name=a -c user.email=a@b commit -qm m",
        ),
        ("cc", "echo 'int main(void){return 0;}' > m.c && cc m.c -o m && ./m"),
        ("python3", "python3 -c 'import ssl, json, subprocess; subprocess.run([\"true\"], check=True)'"),
        ("node", "node -e 'require(\"child_process\").execSync(\"true\")'"),
    ];
    for (program, script) in attempts {
        let mut spec = stage
            .script(&format!("command -v {program} > /dev/null || {{ echo absent; exit 0; }}; {script}"));
        let seen = stage.seen();
        for (key, place) in [("HOME", &seen.home), ("TMPDIR", &seen.tmp)] {
            spec.env.insert(key.to_owned(), place.display().to_string());
        }
        // git gives up on a system file that exists and cannot be read.
        spec.env.insert("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned());
        let exit = stage.run(spec);
        assert_eq!(exit.exit_code, Some(0), "{program}: {}", text(&exit.stderr.head));
        assert_eq!(exit.isolation.outside_accesses(), Some(0), "{program}: {:?}", exit.isolation.events);
    }
}

fn hidden_below_grant() {
    let stage = Stage::new();
    let outside = stage.outside_file();
    let mut spec = stage.script("touch ran");
    spec.policy.readable = vec![stage.dir.path().to_owned()];
    spec.policy.must_not_read.push(outside.clone());
    let error = stage.launch(spec).map(drop).unwrap_err();
    let LaunchError::ProbeWentThrough { probe, .. } = &error else { panic!("{error}") };
    assert!(probe.contains("answer.txt"), "{probe}");
    assert!(!stage.in_workspace("ran").exists(), "the program ran");
}

fn grant_of_everything() {
    let stage = Stage::new();
    let mut spec = stage.script("touch ran");
    spec.policy.readable = vec!["/".into()];
    spec.policy.must_not_read.clear();
    let error = stage.launch(spec).map(drop).unwrap_err();
    assert!(matches!(error, LaunchError::ProbeWentThrough { .. }), "{error}");
    assert!(!stage.in_workspace("ran").exists(), "the program ran");
}

fn granted_tree() {
    let stage = Stage::new();
    let outside = stage.outside_file();
    let mut spec = stage.script(&format!("cat {0}; echo 7 > {0}", outside.display()));
    spec.policy.readable = vec![outside.parent().unwrap().to_owned()];
    let exit = stage.run(spec);
    assert_eq!(text(&exit.stdout.head), "42");
    assert_ne!(exit.exit_code, Some(0));
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "42");
}

fn own_binary() {
    let stage = Stage::new();
    let exit = stage.run(stage.agent(&["own-image"]));
    // A binary that lies in /tmp has the cell's own /tmp as its directory, where nobody else is.
    let in_tmp = std::env::current_exe().unwrap().parent() == Some(std::path::Path::new("/tmp"));
    let answer = match (namespaces(), in_tmp) {
        (false, _) => "Some(PermissionDenied)",
        (true, false) => "Some(NotFound)",
        (true, true) => "None",
    };
    assert_eq!(text(&exit.stdout.head), format!("again: exit status: 0, neighbours: {answer}\n"));
}

fn not_executable() {
    let stage = Stage::new();
    let text_file = stage.in_workspace("text");
    std::fs::write(&text_file, "no program").unwrap();
    std::fs::set_permissions(&text_file, PermissionsExt::from_mode(0o755)).unwrap();
    let outside = stage.outside_file();
    for (path, errno) in [
        ("/usr/bin/no-such-program".into(), rustix::io::Errno::NOENT),
        (text_file, rustix::io::Errno::NOEXEC),
        (outside, if namespaces() { rustix::io::Errno::NOENT } else { rustix::io::Errno::ACCESS }),
    ] {
        let path =
            if path.starts_with(stage.workspace.root()) { stage.seen().root.join("text") } else { path };
        let mut spec = stage.script("");
        spec.program = Program::Path(path.clone());
        let error = stage.launch(spec).map(drop).unwrap_err();
        let LaunchError::NotExecutable { program, source, .. } = &error else { panic!("{error}") };
        assert_eq!(
            (program.as_str(), source.raw_os_error()),
            (path.to_str().unwrap(), Some(errno.raw_os_error()))
        );
    }
}

fn missing_grant() {
    let stage = Stage::new();
    let mut spec = stage.script("true");
    spec.policy.readable.push("/no/such/tree".into());
    let error = stage.launch(spec).map(drop).unwrap_err();
    assert!(
        matches!(error, LaunchError::Setup { .. }) && error.to_string().contains("/no/such/tree"),
        "{error}"
    );
}

fn collect_what_an_agent_left() {
    let stage = Stage::new();
    let outside = stage.outside_file();
    let script = format!(
        "set -e; mkdir -p d/e; echo kept > d/e/f; ln d/e/f d/twin; printf x > \"$(printf 'd/\\377')\"; \
         ln -s {} link; ln -s d dirlink; mkfifo fifo; echo s > suid; chmod 4755 suid; truncate -s 3G sparse; \
         echo h > hard",
        outside.display(),
    );
    assert_eq!(stage.run(stage.script(&script)).exit_code, Some(0));
    std::fs::hard_link(stage.in_workspace("hard"), stage.workspace.home().join("other")).unwrap();
    let dest = stage.dir.path().join("collected");
    let caps = CollectCaps { max_entries: 100, max_bytes: 1 << 20 };
    let collected = stage.workspace.collect(&dest, &caps).unwrap();
    let left_out: Vec<(String, Why)> =
        collected.left_out.iter().map(|left| (left.name.display().to_string(), left.why.clone())).collect();
    let expected = [
        ("dirlink", Why::Link),
        ("fifo", Why::Special),
        ("hard", Why::HardLink),
        ("link", Why::Link),
        ("sparse", Why::TooLarge),
    ];
    assert_eq!(left_out, expected.map(|(name, why)| (name.to_owned(), why)));
    assert_eq!((collected.files, collected.dirs), (4, 2));
    assert_eq!(std::fs::read_to_string(dest.join("d/e/f")).unwrap(), "kept\n");
    assert_eq!(std::fs::read_to_string(dest.join("d/twin")).unwrap(), "kept\n");
    assert_eq!(std::fs::metadata(dest.join("suid")).unwrap().permissions().mode() & 0o7777, 0o755);
    let few = CollectCaps { max_entries: 2, max_bytes: 1 << 20 };
    let cut = stage.workspace.collect(&stage.dir.path().join("cut"), &few).unwrap();
    assert!(cut.left_out.iter().any(|left| left.why == Why::TooMany));
}
