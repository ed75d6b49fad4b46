//! Rows 29, 30 and 49: memory, disk, output and time that a cell could take from the machine or from other cells.

use super::{fields, not_run};

#[test]
fn row_29_memory_disk_and_files_have_a_bound() {
    for field in fields("row 29") {
        // Gigabytes are written; a machine that does other work as well takes its time over them.
        let field = field.with_wall_ms(120_000);
        let field = field.with_try();
        let mut attempts = vec![
            ("big", "./try big; touch done; exit 0"),
            ("scratch", "./try fill $TMPDIR 8000; rm -f $TMPDIR/fill-*; touch done; exit 0"),
            ("workspace", "touch done; ./try fill . 12000; exit 0"),
            ("unlinked", "touch done; ./try nameless unlinked 12000; exit 0"),
            ("tmpfile", "touch done; ./try nameless tmpfile 12000; exit 0"),
            ("barred", "touch done; mkdir -m 300 d; cd d; ../try fill . 12000; exit 0"),
            ("too-deep", "touch done; ./try deep 12000; exit 0"),
            ("shm", "./try fill /dev/shm 8000; rm -f /dev/shm/fill-*; touch done; exit 0"),
        ];
        let memory = field.play_one("touch done; exit 0");
        if memory.names_gap("memory is not limited") {
            not_run(29, "no control group is delegated: memory");
        } else {
            attempts.push(("balloon", "./try balloon 60000; touch done; exit 0"));
        }
        let cells = field.play(&attempts);
        for cell in cells.values() {
            cell.had_no_effect(&field);
        }
        if field.level() == "L1" {
            assert_eq!(cells["scratch"].ending(), "output_cap", "{:#}", cells["scratch"].record["ending"]);
        }
        for name in ["workspace", "unlinked", "tmpfile", "barred", "too-deep"] {
            assert_eq!(cells[name].ending(), "output_cap", "{name}: {:#}", cells[name].record["ending"]);
            assert_eq!(cells[name].record["ending"]["limit"]["name"], "disk-bytes", "{name}");
        }
        if let Some(balloon) = cells.get("balloon") {
            assert_eq!(
                balloon.ending(),
                "completed",
                "the shell outlives what it started: {:#}",
                balloon.record
            );
            balloon.records("limit.memory");
        }
        cells["big"].said("sparse errno 27");
        assert_eq!(cells["big"].ending(), "completed");
        field
            .play_one("./try balloon 64 >/dev/null; ./try fill . 16 >/dev/null; touch done; exit 0")
            .is_valid();
    }
}

#[test]
fn row_29_connections_of_one_cell_are_not_taken_from_another() {
    for field in fields("row 29, connections") {
        let field = field.with_try().with_jobs(2).with_descriptors(1024);
        let flood = "./try connections ${h#*:} 1000; touch done; exit 0";
        // Speaks to its recorder for as long as the other one floods his.
        let speaker = "for i in {1..300}; do exec 5<>/dev/tcp/${h%:*}/${h#*:}; \
                       printf 'GET /none HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n' >&5; \
                       read -r -t 5 line <&5 || exit 1; exec 5>&-; done; touch done; exit 0";
        let cells = field.play(&[("flood", flood), ("speaker", speaker)]);
        assert!(cells["flood"].stdout.contains("held "), "{}", cells["flood"].stdout);
        cells["speaker"].is_valid();
    }
}

#[test]
fn row_30_output_without_end() {
    for field in fields("row 30") {
        let field = field.with_output_bytes(3_000_000);
        let attempts = [
            ("endless", "touch done; exec cat /dev/zero"),
            ("one-line", "touch done; head -c 100000000 /dev/zero | tr '\\0' x"),
            ("both", "touch done; cat /dev/zero >&2 & cat /dev/zero"),
        ];
        let cells = field.play(&attempts);
        for cell in cells.values() {
            assert_eq!(cell.ending(), "output_cap", "{}: {:#}", cell.name, cell.record["ending"]);
            assert_eq!(cell.record["ending"]["limit"]["name"], "output-bytes");
            assert_eq!(cell.record["verdict"], "passed", "{}: graded once frozen", cell.name);
            assert!(cell.stdout.len() < 600_000, "{}: {} bytes kept", cell.name, cell.stdout.len());
            assert_eq!(cell.record["isolation"]["quiescent"], true);
        }
        assert!(cells["one-line"].stdout.contains("bytes omitted by bench"));
        let quiet = field.play_one(
            "printf '\\e[2J\\e]0;title\\a\\377\\000'; head -c 400000 /dev/zero; touch done; exit 0",
        );
        quiet.is_valid();
    }
}

#[test]
fn row_49_one_cell_does_not_take_the_time_of_others() {
    for field in fields("row 49") {
        let cell = field.play_one(
            "for i in 1 2 3 4; do timeout 1 sh -c 'while :; do :; done' & done; wait; touch done; exit 0",
        );
        cell.is_valid();
        if cell.names_gap("CPU time is not limited") {
            not_run(49, "no control group is delegated: cpu");
            continue;
        }
        let (cpu, wall) =
            (cell.record["cpu_ms"]["agent"].as_f64().unwrap(), cell.record["wall_ms"].as_f64().unwrap());
        // Two processors a cell, whatever the machine has; and as much again for a period that has begun.
        assert!(cpu <= wall * 2.0 * 1.1 + 200.0, "{cpu} ms of CPU in {wall} ms");
    }
}
