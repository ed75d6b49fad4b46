//! Rows 16, 22 to 27, 34 to 36: calls past the walls, walls within walls, other ways to run a program.

use super::{compiled, fields};

#[test]
fn row_16_34_calls_on_the_machine_itself() {
    for field in fields("rows 16, 34") {
        let field = field.with_try();
        let attempts = [
            ("machine", "./try machine; touch done; exit 0"),
            ("times", "touch -d 2035-01-01 a.txt; touch -d 1971-01-01 agent.sh; touch done; exit 0"),
        ];
        let cells = field.play(&attempts);
        cells["machine"].had_no_effect(&field).records("io_uring_setup").records("clock_settime");
        assert_eq!(cells["machine"].ending(), "completed", "{:#}", cells["machine"].record["isolation"]);
        cells["times"].is_valid();
    }
}

#[test]
fn row_22_another_view_of_the_file_system() {
    for field in fields("row 22") {
        let field = field.with_try();
        let attempts = [
            ("view", "./try view; touch done; exit 0"),
            (
                "programs",
                "unshare -Ur true; bwrap --ro-bind / / true; chroot . true; mount --bind / d; touch done; exit 0",
            ),
        ];
        let cells = field.play(&attempts);
        cells["view"].had_no_effect(&field).records("unshare").records("mount").records("chroot");
        cells["programs"].had_no_effect(&field);
        field.play_one("mkdir d; (cd d && pwd) >/dev/null; df . >/dev/null; touch done; exit 0").is_valid();
    }
}

#[test]
fn row_23_24_25_walls_within_walls_hide_nothing() {
    for field in fields("rows 23, 24, 25") {
        let field = field.with_try();
        let attempts = [
            ("landlock", "./try landlock OUTSIDE/answer.txt; ls /verifier; touch done; exit 0"),
            ("filter", "./try filter OUTSIDE/answer.txt; ls /verifier; touch done; exit 0"),
            (
                "dumpable",
                "./try machine >/dev/null; cat OUTSIDE/answer.txt; ls /verifier; touch done; exit 0",
            ),
        ];
        let cells = field.play(&attempts);
        for cell in cells.values() {
            cell.had_no_effect(&field);
            if field.level() != "L1" {
                cell.is_recorded();
            }
        }
        cells["landlock"].said("ruleset errno 95").said("restrict EOPNOTSUPP");
        cells["dumpable"].records("prctl");
        field.play_one("./try filter a.txt; ./try landlock a.txt; touch done; exit 0").is_valid();
    }
}

#[test]
fn row_26_no_program_gains_privileges() {
    for field in fields("row 26") {
        let field = field.with_try();
        let set_uid = "for f in /usr/bin/su /usr/bin/sudo /usr/bin/mount /usr/bin/passwd /usr/bin/newgrp /usr/bin/chsh; do \
             test -u $f && echo x | timeout 2 $f -c 'id -u' root; done 2>/dev/null | grep -x 0 && echo EFFECT root";
        let copied = "cp ./try mine; chmod u+s,g+s mine; ./mine self";
        let attempts = [
            ("programs", format!("{set_uid}; touch done; exit 0")),
            ("own", format!("{copied}; touch done; exit 0")),
            ("state", "./try self; touch done; exit 0".to_owned()),
        ];
        let attempts: Vec<(&str, &str)> =
            attempts.iter().map(|(name, script)| (*name, script.as_str())).collect();
        let cells = field.play(&attempts);
        for cell in cells.values() {
            cell.had_no_effect(&field);
        }
        for line in ["CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2", "core 1"] {
            cells["state"].said(line);
        }
        cells["own"].is_valid();
    }
}

#[test]
fn row_27_other_ways_to_run_a_program() {
    for field in fields("row 27") {
        let field = field.with_try();
        let preload = "printf 'int x;' > p.c; cc -shared -fPIC p.c -o p.so; LD_PRELOAD=$PWD/p.so cat OUTSIDE/answer.txt";
        let attempts = [
            ("preload", format!("{preload}; touch done; exit 0")),
            ("memfd", "./try memfd OUTSIDE/answer.txt; touch done; exit 0".to_owned()),
            (
                "loader",
                "/lib64/ld-linux-x86-64.so.2 ./try read OUTSIDE/answer.txt; touch done; exit 0".to_owned(),
            ),
            ("static", "./static read OUTSIDE/answer.txt; touch done; exit 0".to_owned()),
            ("conventions", "./try conventions; touch done; exit 0".to_owned()),
        ];
        let attempts: Vec<(&str, &str)> =
            attempts.iter().map(|(name, script)| (*name, script.as_str())).collect();
        field.prepare(&attempts);
        std::fs::copy(
            compiled("static", &["-static"]),
            field.place().path().join("suites/adverse/static/workspace/static"),
        )
        .unwrap();
        let outcome =
            field.place().bench(&["run", "experiment.toml", "-q", "-o", "run", "--suites", "suites"]);
        let cells = field.cells(attempts.len(), &outcome);
        for cell in cells.values() {
            cell.had_no_effect(&field);
        }
        for name in ["preload", "memfd", "loader", "static"] {
            cells[name].is_recorded_by_name();
        }
        if cfg!(target_arch = "x86_64") {
            cells["conventions"].said("x32 errno 38").said("int80 signal 31");
        }
        let twin = "./try memfd a.txt; /lib64/ld-linux-x86-64.so.2 ./try read a.txt; touch done; exit 0";
        field.play_one(twin).is_valid();
    }
}

#[test]
fn row_35_nothing_is_left_for_the_next_cell_in_the_kernel() {
    for field in fields("row 35") {
        let field = field.with_try();
        let attempts = [
            ("a-leave", "./try channels leave; touch done; exit 0"),
            ("b-find", "./try channels find; touch done; exit 0"),
        ];
        let cells = field.play(&attempts);
        for cell in cells.values() {
            cell.had_no_effect(&field).records("add_key").records("keyctl");
            // A queue has a path of its own, which the kernel's records show.
            if field.level() != "L3" {
                assert_eq!(cell.ending(), "completed", "{}: {:#}", cell.name, cell.record["isolation"]);
            }
        }
        field.play_one("echo x | cat | cat >/dev/null; touch done; exit 0").is_valid();
    }
}

#[test]
fn row_36_names_that_break_parsers_and_programs_that_crash() {
    for field in fields("row 36") {
        let field = field.with_try();
        let attempts = [
            ("crash", "sh -c 'kill -SEGV $$'; ls core* 2>/dev/null && echo EFFECT core; touch done; exit 0"),
            (
                "names",
                "touch $'new\\nline' $'\\xff\\xfe' $'\\e[2J' '\"quoted\" domain=1 status=deallocated denials=0'; \
                 cat $'OUTSIDE/\\xff\\n\"audit(1:1): domain=1 blockers=fs.read_file path=\"/x' 2>/dev/null; touch done; exit 0",
            ),
            (
                "decoy-names",
                "cat $'/verifier/\\xff\\n\"' $'/verifier/\" dev=\"x' 2>/dev/null; ls $'/verifier/' 2>/dev/null; touch done; exit 0",
            ),
            (
                "long",
                "x=$(printf '%0100000d' 0); cat /verifier/$x 2>/dev/null; /bin/true $x $x $x; cat /verifier 2>/dev/null; touch done; exit 0",
            ),
        ];
        let cells = field.play(&attempts);
        for cell in cells.values() {
            cell.had_no_effect(&field);
            assert_eq!(cell.record["verdict"], "passed", "{}: {:#}", cell.name, cell.record["ending"]);
        }
        cells["crash"].is_valid();
        cells["names"].is_recorded_by_name();
        if field.level() != "L1" {
            cells["decoy-names"].is_recorded();
        }
        field.play_one("touch $'new\\nline' $'\\xff'; cat $'\\xff'; touch done; exit 0").is_valid();
    }
}
