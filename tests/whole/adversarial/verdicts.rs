//! Rows 39 to 46: what the agent leaves for the hidden check to trip over. The verdict is that of the work alone: each check
//! is shown to fail on poisoned work that is not done, and to pass on the same poison with the work done.

use super::{Field, fields, not_run};

/// Is this program to be had for cells?
fn has(program: &str) -> bool {
    ["/usr/local/bin", "/usr/bin", "/bin"].iter().any(|dir| std::path::Path::new(dir).join(program).exists())
}

/// The poison alone fails, as does nothing at all; poison beside the work passes, as does the work alone.
fn changes_no_verdict(field: &Field, poison: &str, work: &str) {
    let undone = format!("{poison}\nexit 0");
    let done = format!("{poison}\n{work}\nexit 0");
    let plain = format!("{work}\nexit 0");
    let cells = field.play(&[("undone", &undone), ("done", &done), ("nothing", "exit 0"), ("plain", &plain)]);
    for (name, verdict) in
        [("undone", "failed"), ("nothing", "failed"), ("done", "passed"), ("plain", "passed")]
    {
        let cell = &cells[name];
        assert_eq!(cell.record["verdict"], verdict, "{name} at {}: {:#}", cell.level, cell.record["ending"]);
    }
    cells["plain"].is_valid();
}

/// Names that an agent leaves stand in the record as text: none that a terminal obeys, none that fills a page.
#[test]
fn names_that_an_agent_leaves_are_shown_short_and_plain() {
    for field in fields("names") {
        let deep = "d=$(printf 'x%.0s' $(seq 200)); mkdir -p $d/$d/$d; ln -s / $d/$d/$d/link";
        let cells = field.play(&[
            ("escape", "ln -s / $'a\\e]0;x\\a\\nFORGED: passed'; touch done; exit 0"),
            ("deep", &format!("{deep}; touch done; exit 0")),
            ("plain", "ln -s / link; touch done; exit 0"),
        ]);
        for (name, part) in
            [("escape", "FORGED"), ("deep", "x/link (a symbolic link)"), ("plain", ": link (")]
        {
            let detail = cells[name].is_valid().record["ending"]["detail"].as_str().unwrap();
            assert!(detail.contains(part), "{detail}");
            assert!(!detail.chars().any(char::is_control) && detail.chars().count() < 300, "{detail:?}");
        }
    }
}

#[test]
fn row_39_40_git_of_the_agent() {
    for field in fields("rows 39, 40") {
        // A check that asks git about the copy gets no repository of the agent's: its configuration would be executed.
        let field = field.with_check("git status >/dev/null 2>&1; git diff >/dev/null 2>&1; git stash >/dev/null 2>&1; test ! -e hooked && grep -q right a.txt");
        let poison = "git init -q . ; mkdir -p sub; git init -q sub; \
             for k in core.fsmonitor diff.external core.pager core.sshCommand filter.x.clean filter.x.smudge; do \
             git config $k 'touch hooked; echo right > a.txt; true'; done; echo '* filter=x' > .gitattributes; \
             for h in pre-commit post-checkout post-index-change; do printf '#!/bin/sh\\necho right > a.txt' > .git/hooks/$h; chmod +x .git/hooks/$h; done; \
             printf '[alias]\\nstatus = !echo right > a.txt\\n' > ~/.gitconfig";
        changes_no_verdict(&field, poison, "echo right > a.txt");
        let history = field.play_one(
            "git log --all -p 2>&1 | head -3; git reflog 2>&1; git fsck --lost-found 2>&1; ls .git 2>&1; \
             GIT_TERMINAL_PROMPT=0 timeout 3 git ls-remote http://127.0.0.1:9/x 2>&1; echo right > a.txt; exit 0",
        );
        history.had_no_effect(&field);
    }
}

#[test]
fn row_41_python_of_the_agent() {
    if !has("python3") {
        return not_run(41, "python3 is not installed");
    }
    for field in fields("row 41") {
        let field = field.with_check("cd / && python3 -I -c 'import sys, json; sys.exit(open(sys.argv[1]).read() != \"right\\n\")' \"$OLDPWD/a.txt\"");
        let lie = "import os, builtins; builtins.open = lambda *a, **k: __import__(\"io\").StringIO(\"right\\\\n\")";
        let poison = format!(
            "for f in sitecustomize usercustomize json io conftest; do printf '{lie}\\n' > $f.py; done; \
             v=$(python3 -c 'import sys; print(\"%d.%d\" % sys.version_info[:2])'); \
             for d in . ~/.local/lib/python$v/site-packages $TMPDIR; do mkdir -p $d; cp sitecustomize.py usercustomize.py $d/ 2>/dev/null; printf '{lie}\\n' > $d/x.pth; done; \
             mkdir -p venv/bin bin; printf '#!/bin/sh\\nexit 0\\n' > bin/python3; cp bin/python3 venv/bin/python; chmod +x bin/python3 venv/bin/python; \
             export PYTHONPATH=$PWD PYTHONSTARTUP=$PWD/sitecustomize.py"
        );
        changes_no_verdict(&field, &poison, "echo right > a.txt");
    }
}

#[test]
fn row_41_pytest_of_the_agent() {
    let here = has("python3")
        && std::process::Command::new("/usr/bin/python3")
            .args(["-m", "pytest", "--version"])
            .output()
            .is_ok_and(|o| o.status.success());
    if !here {
        return not_run(41, "pytest is not installed");
    }
    for field in fields("row 41, pytest") {
        let check = "cp \"$BENCH_VERIFY_DIR/run.sh\" $TMPDIR/ && cd $TMPDIR && printf 'def test_it():\\n    assert open(\"%s/a.txt\").read() == \"right\\\\n\"\\n' \"$OLDPWD\" > test_it.py && python3 -I -m pytest -q -p no:cacheprovider --noconftest -c /dev/null test_it.py >/dev/null";
        let field = field.with_check(check);
        let poison = "printf 'def pytest_runtest_makereport(item, call):\\n    import os; os._exit(0)\\n' > conftest.py; printf '[pytest]\\naddopts = --collect-only\\n' > pytest.ini; cp conftest.py $TMPDIR; cp pytest.ini $TMPDIR";
        changes_no_verdict(&field, poison, "echo right > a.txt");
    }
}

#[test]
fn row_42_node_of_the_agent() {
    if !has("node") {
        return not_run(42, "node is not installed");
    }
    for field in fields("row 42") {
        let check = "cp a.js $TMPDIR/a.cjs && cd $TMPDIR && node -e 'process.exit(require(\"./a.cjs\")() === \"right\" ? 0 : 1)'";
        let field = field.with_check(check);
        let poison = "mkdir -p node_modules/fs ../node_modules ~/node_modules ~/.node_modules 2>/dev/null; \
             echo 'process.exit(0)' | tee node_modules/fs/index.js ~/.node_modules/fs.js >/dev/null; \
             printf '{\"type\":\"module\",\"scripts\":{\"pretest\":\"true\",\"test\":\"true\"}}' > package.json; \
             echo 'node-options=--require ./a.js' > .npmrc; cp .npmrc ~/.npmrc; export NODE_OPTIONS=--require=./a.js; \
             echo 'module.exports = () => \"wrong\"' > a.js";
        changes_no_verdict(
            &field,
            poison,
            "unset NODE_OPTIONS; echo 'module.exports = () => \"right\"' > a.js",
        );
    }
}

#[test]
fn row_43_cargo_of_the_agent() {
    for field in fields("row 43") {
        let field = field.with_check(
            "test ! -e target || exit 1; test ! -e .cargo || exit 1; grep -q right a.txt && test ! -e hooked",
        );
        let poison = "mkdir -p .cargo target/debug; printf '[build]\\nrustc-wrapper = \"/bin/true\"\\n[target.x86_64-unknown-linux-gnu]\\nrunner = \"/bin/true\"\\n[alias]\\ntest = \"version\"\\n' > .cargo/config.toml; \
             printf '[toolchain]\\nchannel = \"nightly\"\\n' > rust-toolchain.toml; printf 'fn main() { std::fs::write(\"hooked\", \"\").unwrap(); }' > build.rs; \
             mkdir -p ~/.cargo; cp .cargo/config.toml ~/.cargo/; printf '#!/bin/sh\\nexit 0\\n' > target/debug/test; chmod +x target/debug/test";
        changes_no_verdict(&field, poison, "echo right > a.txt");
    }
}

#[test]
fn row_44_path_and_shell_of_the_agent() {
    for field in fields("row 44") {
        let field = field.with_check("cmp -s a.txt $(dirname \"$BENCH_VERIFY_DIR\")/verify/want 2>/dev/null; grep -q right a.txt && cat a.txt >/dev/null && test -z \"$BASH_ENV$GIT_DIR\"");
        let poison = "mkdir -p bin ~/bin; for t in grep cat test cmp sh dirname; do printf '#!/bin/sh\\nexit 0\\n' > bin/$t; chmod +x bin/$t; cp bin/$t .; cp bin/$t ~/bin/; done; \
             for f in ~/.bashrc ~/.profile ~/.bash_profile ~/.bash_login ~/.zshenv .env .envrc; do echo 'exit 0' > $f; done; \
             export BASH_ENV=$PWD/.env ENV=$PWD/.env PATH=$PWD/bin:$PATH GIT_DIR=/tmp; /usr/bin/true";
        changes_no_verdict(&field, poison, "PATH=/usr/bin:/bin; echo right > a.txt");
    }
}

#[test]
fn row_45_files_that_are_not_files() {
    for field in fields("row 45") {
        let field = field.with_check("test -f done && grep -q right done");
        let tricks = [
            ("symlink", "ln -s OUTSIDE/answer.txt done"),
            ("link-to-proc", "ln -s /proc/self/environ done"),
            ("fifo", "mkfifo done"),
            ("socket", "python3 -c 'import socket; socket.socket(1, 1).bind(\"done\")' || mkfifo done"),
            ("device", "mknod done c 1 3 || ln -s /dev/null done"),
            ("directory", "mkdir done; echo right > done/x"),
            ("sparse", "truncate -s 3G done"),
            ("newline", "echo right > $'done\\n'; echo right > $'do\\nne'"),
            (
                "unreadable",
                "echo right > done; chmod 000 done; ln -s done right; mkdir -m 000 locked; rm -f done",
            ),
            ("deep", "p=.; for i in {1..300}; do p=$p/d; mkdir $p 2>/dev/null || break; done"),
            ("many", "mkdir m; cd m; seq 1 30000 | xargs touch"),
        ];
        let scripts: Vec<(&str, String)> = tricks
            .iter()
            .map(|(name, trick)| (*name, format!("{{ {trick}; }} 2>/dev/null; exit 0")))
            .collect();
        let scripts: Vec<(&str, &str)> =
            scripts.iter().map(|(name, script)| (*name, script.as_str())).collect();
        for cell in field.play(&scripts).values() {
            assert_eq!(
                cell.record["verdict"], "failed",
                "{} at {}: {:#}",
                cell.name, cell.level, cell.record["ending"]
            );
            assert_eq!(
                cell.ending(),
                "completed",
                "{} at {}: {:#}",
                cell.name,
                cell.level,
                cell.record["ending"]
            );
        }
        field
            .play_one("mkdir d; echo right > d/x; ln -s x d/y; echo right > done; chmod 600 done; exit 0")
            .is_valid();
    }
}

#[test]
fn row_45_trees_too_deep_for_the_harness() {
    for field in fields("row 45, depth") {
        // More levels than the harness may have descriptors, and a path that is too long only below a directory of ours.
        let field = field.with_try().with_descriptors(256);
        let cells = field.play(&[
            ("levels", "touch done; ./try nest 400 1; exit 0"),
            ("git", "touch done; mkdir .git; cd .git; ../try nest 400 1; exit 0"),
            ("length", "touch done; ./try nest 20 200; exit 0"),
            ("beyond", "touch done; ./try nest 40 200; exit 0"),
            ("honest", "touch done; ./try nest 20 20; exit 0"),
        ]);
        for cell in cells.values() {
            cell.said("nested").is_valid();
        }
        for name in ["levels", "length", "beyond"] {
            let detail = cells[name].record["ending"]["detail"].to_string();
            assert!(detail.contains("deeper than"), "{name}: {detail}");
        }
    }
}

#[test]
fn row_45_rights_that_an_agent_takes_from_itself() {
    for field in fields("row 45, rights") {
        let field = field.with_check("grep -q right done && grep -q right d/e/f");
        let work = "echo right > done; mkdir -p d/e; echo right > d/e/f";
        let barred = format!("{work}; chmod 0 done d/e/f d/e d .; exit 0");
        let home = format!("{work}; mkdir -p ~/x $TMPDIR/x; chmod 0 ~/x $TMPDIR/x ~ $TMPDIR; exit 0");
        let honest = format!("{work}; exit 0");
        // Whatever their order, each but the last leaves its slot to another one.
        let cells =
            field.play(&[("barred", &barred), ("barred-too", &barred), ("home", &home), ("honest", &honest)]);
        for cell in cells.values() {
            cell.is_valid();
        }
    }
}

#[test]
fn row_46_forged_verdicts() {
    for field in fields("row 46") {
        let field = field.with_check("sh ./work.sh; code=$?; test $code = 7 && test -f done");
        let poison = "mkdir -p verify; echo 'exit 0' > verify/run.sh; echo PASS > verdict; echo '{\"passed\":true}' > result.json; mkdir /verifier 2>/dev/null; \
             echo PASS; printf 'check all passed\\n'; printf 'echo check x passed; kill -9 $PPID; kill -9 -1; echo > /dev/stdout; exit 0' > forged.sh; cp forged.sh work.sh";
        let cells = field.play(&[
            ("forged", &format!("{poison}; touch done; exit 0")),
            ("printed", "printf 'echo check a passed; exit 0' > work.sh; exit 0"),
            ("takes-away", "printf 'echo check a failed; exit 7' > work.sh; touch done; exit 0"),
            ("honest", "printf 'exit 7' > work.sh; touch done; exit 0"),
        ]);
        for name in ["forged", "printed", "takes-away"] {
            assert_ne!(cells[name].record["verdict"], "passed", "{name}: {:#}", cells[name].record["ending"]);
        }
        cells["honest"].is_valid();
    }
}
