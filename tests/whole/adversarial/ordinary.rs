//! Rows 47, 48 and 50: what belongs to a cell, what it leaves for the next one, and ordinary work, which stays valid.

use super::{fields, not_run};

#[test]
fn row_47_the_credential_of_a_cell_opens_no_other() {
    for field in fields("row 47") {
        let show = "echo \"$BENCH_API_KEY\"; env | grep -iE '^[a-z_]*(key|token|secret|password)[a-z_]*=' | grep -vE '^(BENCH|OPENAI)_API_KEY=' && echo EFFECT another key";
        let reuse = "BENCH_API_KEY=bench-cell-0000; $ASK_AGAIN";
        let attempts = [
            ("a-show", format!("{show}; touch done; exit 0")),
            ("b-show", format!("{show}; touch done; exit 0")),
            ("c-other", format!("{reuse} touch done; exit 0")),
        ];
        let attempts: Vec<(&str, &str)> =
            attempts.iter().map(|(name, script)| (*name, script.as_str())).collect();
        let cells = field.play(&attempts);
        let key = |name: &str| cells[name].stdout.lines().next().unwrap_or_default().to_owned();
        assert!(!key("a-show").is_empty());
        assert_ne!(key("a-show"), key("b-show"), "a credential is a cell's own");
        for name in ["a-show", "b-show", "c-other"] {
            cells[name].had_no_effect(&field).is_valid();
        }
    }
}

#[test]
fn row_48_nothing_is_left_for_the_next_cell_in_files() {
    for field in fields("row 48") {
        let places = "$HOME $HOME/.cache $HOME/.cargo $HOME/.npm $HOME/.config $TMPDIR /tmp /dev/shm /var/tmp /run .. ../..";
        let leave = format!(
            "for d in {places}; do mkdir -p $d; echo x > $d/bench-marker; done 2>/dev/null; touch done; exit 0"
        );
        let find = format!(
            "for d in {places}; do test -e $d/bench-marker && echo EFFECT found in $d; done; touch done; exit 0"
        );
        let names = ["a-leave", "b-find", "c-leave", "d-find"];
        let attempts: Vec<(&str, &str)> = names
            .iter()
            .map(|name| (*name, if name.ends_with("find") { find.as_str() } else { leave.as_str() }))
            .collect();
        let cells = field.play(&attempts);
        for name in ["b-find", "d-find"] {
            cells[name].had_no_effect(&field).is_valid();
        }
        assert_eq!(cells["a-leave"].record["slot"], cells["b-find"].record["slot"], "in the same place");
    }
}

#[test]
fn row_48_a_file_cannot_be_changed_without_a_mark() {
    for field in fields("row 48, extents") {
        let field = field.with_try().with_check("test \"$(cat a.txt)\" = a");
        let cells = field.play(&[
            ("a-swap", "./try extents a.txt; exit 0"),
            ("b-after", "test \"$(cat a.txt)\" = a || echo EFFECT the last cell is seen; exit 0"),
        ]);
        for cell in cells.values() {
            cell.had_no_effect(&field);
            assert_eq!(cell.record["verdict"], "passed", "{}", cell.name);
        }
    }
}

/// Name, what must be installed, script.
const WORK: &[(&str, &str, &str)] = &[
    (
        "files",
        "ls",
        "mkdir d; echo x > d/f; cp d/f d/g; chmod 600 d/g; ls -la . d; grep -r x d; mv d e; find . -newer a.txt; rm -r e",
    ),
    ("links", "ln", "echo x > f; ln -s f l; cat l; ln f h; cat h; readlink -f l; realpath ."),
    (
        "temporary",
        "mktemp",
        "t=$(mktemp); echo x > $t; cat $t; rm $t; d=$(mktemp -d); rmdir $d; ls $TMPDIR; ls ~",
    ),
    (
        "processes",
        "sleep",
        "sleep 30 & kill $!; wait; cat /proc/self/status; nproc; id; uname -a; date; hostname; free || true; (setsid true)",
    ),
    (
        "streams",
        "tee",
        "echo x | tee /dev/stderr 2>/dev/null; cat <(echo y) < /dev/stdin </dev/null; echo z > /dev/stdout; echo w > /dev/fd/2 2>/dev/null; mkdir -p ~/.cache/x/y $TMPDIR/p/q; : > /dev/null; exec 7<<<here; cat <&7",
    ),
    ("archives", "tar", "tar czf x.tgz a.txt agent.sh; mkdir u; tar xzf x.tgz -C u; cmp a.txt u/a.txt"),
    (
        "git",
        "git",
        "git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm m && git log --oneline && git status --short && \
         git checkout -q -b other && echo y >> a.txt && git stash -q && git stash pop -q && git diff --stat && git clone -q . c && git grep a && git worktree add -q w",
    ),
    (
        "cc",
        "cc",
        "printf '#include <stdio.h>\\nint main(void){puts(\"x\");return 0;}' > m.c && cc -O2 -g m.c -o m && ./m && printf 'all: m\\nm: m.c\\n\\tcc m.c -o m\\n' > Makefile && touch m.c && { ! command -v make || make; }",
    ),
    (
        "python",
        "python3",
        "python3 -c 'import json, subprocess, tempfile, ssl, sqlite3, socket, getpass, site; subprocess.run([\"true\"]); tempfile.NamedTemporaryFile().close(); open(\"p\", \"w\").write(\"1\")'; \
         printf 'def f():\\n    return 1\\n' > mod.py; python3 -c 'import mod; mod.f()'; python3 -m py_compile mod.py; python3 -m unittest discover -q || true; python3 -m venv --without-pip v && v/bin/python -c 'import sys; print(sys.prefix)'",
    ),
    (
        "python-processes",
        "python3",
        "printf 'import multiprocessing as m\\ndef f(x): return x * x\\nif __name__ == \"__main__\":\\n    print(m.Pool(2).map(f, range(9)))\\n' > pool.py; python3 pool.py || test -n \"$NO_SHM\"",
    ),
    (
        "node",
        "node",
        "node -e 'const fs = require(\"fs\"), os = require(\"os\"), cp = require(\"child_process\"); fs.writeFileSync(\"n\", os.tmpdir() + (process.env.NO_SHM || os.userInfo().username)); cp.execSync(\"true\"); new (require(\"worker_threads\").Worker)(\"1\", {eval: true})'; \
         echo 'console.log(1)' > m.mjs; node m.mjs; printf 'const t = require(\"node:test\"); t(\"x\", () => {});' > x.test.js; node --test x.test.js",
    ),
    (
        "npm",
        "npm",
        "printf '{\"name\":\"x\",\"version\":\"1.0.0\",\"scripts\":{\"test\":\"node -e 1\"}}' > package.json; npm test --silent; npm run --silent test; npm pack --silent --offline; npm ls --silent || true",
    ),
    (
        "awk-sed",
        "awk",
        "printf '1\\n2\\n' | awk '{s+=$1} END {print s}'; sed -i s/a/b/ a.txt; sort a.txt | uniq -c | tee t; xargs -n1 echo < t; diff a.txt t || true; perl -e 'print 1' || true",
    ),
];

#[test]
fn row_50_ordinary_work_stays_valid() {
    let is_here = |tool: &str| {
        ["/usr/local/bin", "/usr/bin", "/bin"].iter().any(|dir| std::path::Path::new(dir).join(tool).exists())
    };
    if WORK.iter().any(|(_, tool, _)| !is_here(tool)) {
        not_run(50, "a tool is not installed");
    }
    for field in fields("row 50") {
        let field = field.with_wall_ms(120_000);
        let scripts: Vec<(&str, String)> = WORK
            .iter()
            .filter(|(_, tool, _)| is_here(tool))
            .map(|(name, _, work)| {
                let shm = if field.level() == "L1" { "export NO_SHM=1; " } else { "" };
                (*name, format!("{shm}set -e; {{ {work}; }} >/dev/null; touch done"))
            })
            .collect();
        let scripts: Vec<(&str, &str)> =
            scripts.iter().map(|(name, script)| (*name, script.as_str())).collect();
        for cell in field.play(&scripts).values() {
            cell.is_valid();
        }
    }
}

/// With `count`, the same wandering is a metric and nothing else.
#[test]
fn wandering_that_is_only_counted_leaves_the_cell_as_graded() {
    for field in fields("count") {
        let script = "{ echo x > /etc/passwd; cat /verifier/x; ls /root; } 2>/dev/null; touch done; exit 0";
        let invalid = field.play_one(script);
        invalid.is_recorded();
        let field = field.with_keys("on-outside-access = \"count\"");
        let counted = field.play_one(script);
        assert_eq!(counted.ending(), "completed", "{:#}", counted.record["ending"]);
        assert_eq!(counted.record["verdict"], "passed");
        let times = |cell: &super::Cell| cell.record["metrics"]["outside_accesses"].clone();
        assert_eq!(times(&counted), times(&invalid));
    }
}
