//! What is hidden stays hidden: answers, verifiers, the journal and the key are not readable in a cell, in no file and
//! not in the image of the process itself; and if an answer does turn up in a request, the cell says so.

use crate::workplace::{Workplace, walls};

const CANARY: &str = "bench-canary-5d1f-hidden-test";

fn suite(place: &Workplace) {
    let dir = "suites/hidden/one";
    place.file(
        &format!("{dir}/task.toml"),
        &format!("format-version = 1\ntitle = \"One\"\ntrack = \"default\"\ncanary = \"{CANARY}\"\n"),
    );
    place.file(&format!("{dir}/instruction.md"), "Look around.\n");
    place.file(&format!("{dir}/workspace/a.txt"), "a\n");
    place.file(&format!("{dir}/verify/run.sh"), &format!("# {CANARY}\nexit 1\n"));
    place.file(
        &format!("{dir}/oracle.toml"),
        &format!("# {CANARY}\nformat-version = 1\n[[step]]\nanswer = \"done\"\n"),
    );
}

fn command_experiment(script: &str) -> String {
    let script = script.replace('\\', "\\\\").replace('"', "\\\"");
    format!(
        "name = \"hidden\"\nseed = 1\nrepeats = 1\non-outside-access = \"count\"\nsuite = \"hidden\"\nmodel = \"oracle\"\n[upstream]\nkind = \"oracle\"\n[[arm]]\nname = \"only\"\nagent = \"command\"\nsurface = \"as-is\"\ncommand = [\"/bin/bash\", \"-c\", \"{script}\"]\n"
    )
}

fn stdout_of(place: &Workplace) -> String {
    place.read("run/cells/one/r01/only/attempt-1/stdout")
}

#[test]
fn no_readable_file_and_no_process_image_holds_an_answer() {
    if !walls("no_readable_file_and_no_process_image_holds_an_answer") {
        return;
    }
    let place = Workplace::new();
    suite(&place);
    // The needle is put together inside and never stands in an argument, so that the search does not find itself; a
    // twin in the workspace proves that it finds what is there. `/` itself cannot be listed, so its folders
    // are named; the answers were written a moment ago, so older files cannot hold them.
    let script = format!(
        "a=bench-canary-5d1f; echo $a-hidden-test > twin; \
         touch -d '1 hour ago' since; \
         find /usr /etc /var /root /home /tmp /opt /srv /run /mnt {place} {project} . -type f -newer since 2>/dev/null | \
         while read -r file; do grep -lF -f twin \"$file\" 2>/dev/null; done; \
         grep -lF -f twin /proc/self/exe /proc/*/environ /proc/*/cmdline /proc/*/maps 2>/dev/null | sed 's/^/image: /'; \
         echo looked",
        place = place.path().display(),
        project = crate::workplace::project().display(),
    );
    let file = place.file("experiment.toml", &command_experiment(&script));
    // 4 where attempts are heard: such a search is outside access, and no valid cell is left.
    let outcome = place.bench(&["run", &file, "-q", "-o", "run", "--suites", "suites"]);
    assert!(matches!(outcome.code, Some(0 | 4)), "{outcome:?}");
    let found = stdout_of(&place);
    let hits: Vec<&str> = found.lines().filter(|line| *line != "looked").collect();
    assert_eq!(hits.len(), 1, "{found}");
    assert!(hits[0].ends_with("/twin"), "{found}");
    assert!(found.contains("looked"));
}

#[test]
fn the_binary_itself_holds_no_answer_of_the_suites_shipped_here() {
    let image = std::fs::read(env!("CARGO_BIN_EXE_bench")).unwrap();
    let suites = crate::workplace::project().join("tasks/suites");
    let mut canaries = 0;
    for suite in std::fs::read_dir(suites).unwrap() {
        for task in std::fs::read_dir(suite.unwrap().path()).unwrap() {
            let Ok(text) = std::fs::read_to_string(task.unwrap().path().join("task.toml")) else { continue };
            let canary =
                text.lines().find_map(|line| line.strip_prefix("canary = \"")).unwrap().trim_end_matches('"');
            canaries += 1;
            assert!(
                !image.windows(canary.len()).any(|w| w == canary.as_bytes()),
                "{canary} is in the binary"
            );
        }
    }
    assert!(canaries >= 6);
}

#[test]
fn a_key_of_the_harness_is_not_visible_inside() {
    if !walls("a_key_of_the_harness_is_not_visible_inside") {
        return;
    }
    let place = Workplace::new();
    suite(&place);
    let script = "env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; ls -l /proc/self/fd | sed 's/.*-> //'; grep CapEff /proc/self/status";
    let file = place.file("experiment.toml", &command_experiment(script));
    let mut command = place.command(&["run", &file, "-q", "-o", "run", "--suites", "suites"]);
    let key = format!("sk-{}", "live-4242424242424242");
    let output = command.env("SOME_API_KEY", &key).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let seen = stdout_of(&place);
    assert!(!seen.contains(&key), "{seen}");
    assert!(!seen.contains("SOME_API_KEY"), "{seen}");
    assert!(seen.contains("CapEff:\t0000000000000000"), "{seen}");
}

#[test]
fn a_canary_in_a_request_ends_the_cell_as_canary_seen() {
    if !walls("a_canary_in_a_request_ends_the_cell_as_canary_seen") {
        return;
    }
    let place = Workplace::new();
    suite(&place);
    let script = format!(
        "u=${{BENCH_BASE_URL#http://}}; h=${{u%%/*}}; b='{{\"model\":\"m\",\"messages\":[{{\"role\":\"user\",\"content\":\"{CANARY}\"}}]}}'; \
         exec 3<>/dev/tcp/${{h%:*}}/${{h#*:}}; \
         printf 'POST /v1/chat/completions HTTP/1.1\\r\\nhost: x\\r\\nauthorization: Bearer %s\\r\\ncontent-length: %s\\r\\nconnection: close\\r\\n\\r\\n%s' \"$BENCH_API_KEY\" ${{#b}} \"$b\" >&3; cat <&3"
    );
    let file = place.file("experiment.toml", &command_experiment(&script));
    place.bench(&["run", &file, "-q", "-o", "run", "--suites", "suites"]).exits(4);
    let endings: Vec<_> = place.records("run").iter().map(|r| r["ending"]["kind"].clone()).collect();
    assert_eq!(endings, ["canary_seen", "canary_seen"], "once, and once more for its block");
}
