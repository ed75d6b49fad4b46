//! A real language server in a cell: a plan that renames a name by its scope, through the whole, and nothing that it tried
//! outside its space. Skipped with a line where the machine has no clangd; `.ci/run` installs it.

use crate::workplace::{Workplace, skipped, walls};

const CANARY: &str = "bench-canary-5d1e-language-test";

fn suite(place: &Workplace) {
    let dir = "suites/naming/rename";
    let file = |name: &str, text: &str| drop(place.file(&format!("{dir}/{name}"), text));
    file(
        "task.toml",
        &format!(
            "format-version = 1\ntitle = \"Rename\"\ntrack = \"orchestration\"\ncapability = \"language\"\nprimary-outcome = \"turns\"\ncanary = \"{CANARY}\"\n"
        ),
    );
    file("instruction.md", "Rename the function `size` to `length`, and nothing else that is called so.\n");
    file("workspace/size.h", "int size(int of);\n");
    file("workspace/size.c", "#include \"size.h\"\n\nint size(int of) {\n    return of;\n}\n");
    file(
        "workspace/main.c",
        "#include \"size.h\"\n\nint main(void) {\n    int of = 3;\n    { int size = of; of = size; }\n    return size(of);\n}\n",
    );
    file(
        "verify/run.sh",
        &format!(
            "# {CANARY}\ngrep -q 'int length(int of) {{' size.c && grep -q 'int length(int of);' size.h && grep -q 'return length(of)' main.c && grep -q 'int size = of; of = size;' main.c\n"
        ),
    );
    let edit = |path: &str, old: &str, new: &str| {
        format!("[[step]]\nedit = {{ path = \"{path}\", old = \"{old}\", new = \"{new}\" }}\n")
    };
    let core = edit("size.h", "size(int of)", "length(int of)")
        + &edit("size.c", "size(int of)", "length(int of)")
        + &edit("main.c", "size(of)", "length(of)");
    let answer = "[[step]]\nanswer = \"It is called length.\"\n";
    file("oracle.toml", &format!("# {CANARY}\nformat-version = 1\n{core}{answer}"));
    let rename = "[[step]]\nuse = { capability = \"rename-symbol\", file = \"size.c\", line = 3, symbol = \"size\", new_name = \"length\", apply = true }\n";
    let faults = "[[step]]\nuse = { capability = \"find-faults\", file = \"main.c\" }\n";
    let capability = format!("# {CANARY}\nformat-version = 1\n{rename}{faults}{answer}");
    file("oracle-capability.toml", &capability);
}

#[test]
fn a_rename_through_a_language_server_passes_and_stays_in_its_cell() {
    if !walls("a_rename_through_a_language_server_passes_and_stays_in_its_cell") {
        return;
    }
    if !std::path::Path::new("/usr/bin/clangd-19").is_file() {
        skipped(
            "a_rename_through_a_language_server_passes_and_stays_in_its_cell",
            "clangd-19 is not installed",
        );
        return;
    }
    let place = Workplace::new();
    suite(&place);
    let level = place.highest_level();
    let arm = |name: &str| format!("[[arm]]\nname = \"{name}\"\nsurface = \"{name}\"\n");
    place.file(
        "x.toml",
        &format!(
            "name = \"x\"\nseed = 1\nrepeats = 2\nsuite = \"naming\"\ntokenizer = \"o200k_base\"\nmin-isolation = {level}\n[upstream]\nkind = \"oracle\"\n{}{}",
            arm("bare"),
            arm("lsp")
        ),
    );
    place.bench(&["run", "x.toml", "-q", "-o", "run", "--suites", "suites"]).exits(0);
    for record in place.records("run") {
        assert_eq!(record["verdict"], "passed", "{record}");
        assert_eq!(record["ending"]["kind"], "completed", "{record}");
        let turns = record["turns_series"].as_array().unwrap().len();
        let wanted = if record["arm"] == "lsp" { 3 } else { 4 };
        assert_eq!(turns, wanted, "{}", record["arm"]);
        assert_eq!(record["metrics"]["tool_errors"], 0, "{record}");
    }
}
