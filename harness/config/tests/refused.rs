//! One table of files that are refused, with the exact text of the refusal.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

#[path = "support/catalogue.rs"]
mod catalogue;

use std::path::Path;

use bench_config::{DEFAULT, load};
use bench_core::{Catalogue, Problem};
use catalogue::catalogue;
use proptest::prelude::*;

fn refusal(text: &str, catalogue: &Catalogue) -> String {
    match load(text, Path::new("x.toml"), catalogue) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => error.to_string(),
    }
}

/// Two arms and a contrast; what is wrong is put in front or behind.
const BODY: &str = r#"
[[arm]]
name = "bare"
surface = "bare"
[[arm]]
name = "gateway"
surface = "gateway"
[[contrast]]
name = "g"
control = "bare"
candidate = "gateway"
factor = "surface"
"#;

fn cases() -> Vec<(&'static str, String)> {
    let top = |keys: &str| format!("name = \"x\"\n{keys}{BODY}");
    let end = |tables: &str| format!("name = \"x\"{BODY}{tables}");
    let gate = |keys: &str| end(&format!("[[gate]]\n{keys}"));
    let chat = |keys: &str| end(&format!("[upstream]\nkind = \"openai-chat\"\n{keys}"));
    let arm = |keys: &str| end(&format!("[[arm]]\nname = \"third\"\n{keys}"));
    let contrast = |keys: &str| end(&format!("[[contrast]]\nname = \"h\"\n{keys}"));
    vec![
        ("not TOML", top("seed = \n")),
        ("no name", BODY.to_owned()),
        ("no arm", "name = \"x\"\n".to_owned()),
        ("unusable name", format!("name = \"My Experiment\"{BODY}")),
        ("unknown keys, all of them", top("sed = 1\ntokeniser = \"o200k_base\"\n") + "[limit]\nturns = 3\n"),
        ("wrong type", top("seed = \"one\"\n")),
        ("negative seed", top("seed = -1\n")),
        ("no repeats", top("repeats = 0\n")),
        ("too many repeats", top("repeats = 10000\n")),
        ("unknown suite", top("suite = \"defualt\"\n")),
        ("unknown and repeated tasks", top("tasks = [\"one\", \"on\", \"one\", \"zebra\"]\n")),
        ("no tasks", top("tasks = []\n")),
        ("unknown tokenizer", top("tokenizer = \"o200k\"\n")),
        ("no walls", top("min-isolation = \"L0\"\n")),
        ("unknown level", top("min-isolation = \"L9\"\n")),
        ("unknown rule", top("on-outside-access = \"ignore\"\n")),
        ("port 0", top("recorder-port = 0\n")),
        ("port too large", top("recorder-port = 70000\n")),
        ("unknown upstream", end("[upstream]\nkind = \"openai\"\n")),
        ("oracle with an endpoint", end("[upstream]\nbase-url = \"http://h/v1\"\nkey-env = \"K\"\n")),
        ("endpoint without URL and model", chat("")),
        ("URL without scheme", chat("base-url = \"localhost:8080/v1\"\n")),
        ("URL with a slash at its end", chat("base-url = \"https://h.example/v1/\"\n")),
        ("URL of the call", chat("base-url = \"https://h.example/v1/chat/completions\"\n")),
        ("URL with a query", chat("base-url = \"https://h.example/v1?api_key=sk-secret\"\n")),
        ("URL with a password", chat("base-url = \"https://me:sk-secret@h.example/v1\"\n")),
        ("URL without host", chat("base-url = \"http:///v1\"\n")),
        ("URL with a bad port", chat("base-url = \"http://h.example:0/v1\"\n")),
        ("a key in place of its variable", chat("base-url = \"http://h/v1\"\nkey-env = \"sk-secret-0123\"\n")),
        ("a key made of letters", chat("base-url = \"http://h/v1\"\nkey-env = \"hf_abcdefghijklmnopq\"\n")),
        ("a key under another key", chat("base-url = \"http://h/v1\"\napi-key = \"sk-secret-0123\"\n")),
        ("limits of zero", end("[limits]\nwall-ms = 0\nturns = 0\n")),
        (
            "rules out of range",
            end("[rules]\nalpha = 0.5\nmax-invalid-fraction = 1.5\npar = 0\nmax-reruns-per-block = 99\n"),
        ),
        ("settings out of range", end("[settings]\ntemperature = -0.1\nmax-output-tokens = 0\n")),
        ("unknown agent", arm("agent = \"refrence\"\nsurface = \"bare\"\n")),
        ("unknown surface", arm("surface = \"gatway\"\n")),
        ("no surface", arm("")),
        ("surface of another agent", arm("agent = \"pi\"\nsurface = \"bare\"\n")),
        ("second arm of a name", end("[[arm]]\nname = \"bare\"\nsurface = \"bare\"\n")),
        ("command without agent", arm("surface = \"bare\"\ncommand = [\"x\"]\n")),
        ("agent without command", arm("agent = \"command\"\n")),
        ("command without program", arm("agent = \"command\"\ncommand = []\n")),
        ("empty model", arm("surface = \"bare\"\nmodel = \" \"\n")),
        ("unknown profile", arm("surface = \"bare\"\noracle-profile = { kind = \"wander\", rate = 2 }\n")),
        (
            "profile without oracle",
            chat("base-url = \"http://h/v1\"\n")
                + "[[arm]]\nname = \"third\"\nmodel = \"m\"\nsurface = \"bare\"\noracle-profile = { kind = \"wanders\" }\n",
        ),
        ("contrast of unknown arms", contrast("control = \"bear\"\ncandidate = \"x\"\nfactor = \"surface\"\n")),
        ("arm against itself", contrast("control = \"bare\"\ncandidate = \"bare\"\nfactor = \"none\"\n")),
        ("unknown factor and role", contrast("control = \"bare\"\ncandidate = \"gateway\"\nfactor = \"surfaces\"\nrole = \"gates\"\n")),
        ("factor that does not differ", contrast("control = \"bare\"\ncandidate = \"gateway\"\nfactor = \"model\"\n")),
        ("none that differs", contrast("control = \"bare\"\ncandidate = \"gateway\"\nfactor = \"none\"\n")),
        (
            "more than one factor",
            arm("surface = \"loaded\"\nmodel = \"other\"\noracle-profile = { kind = \"wanders\" }\n")
                + "[[contrast]]\nname = \"h\"\ncontrol = \"bare\"\ncandidate = \"third\"\nfactor = \"surface\"\n",
        ),
        (
            "nothing that differs",
            arm("surface = \"bare\"\n")
                + "[[contrast]]\nname = \"h\"\ncontrol = \"bare\"\ncandidate = \"third\"\nfactor = \"surface\"\n",
        ),
        ("second contrast of a name", end("[[contrast]]\nname = \"g\"\ncontrol = \"bare\"\ncandidate = \"gateway\"\nfactor = \"surface\"\n")),
        (
            "negative control without gate",
            contrast("control = \"bare\"\ncandidate = \"gateway\"\nfactor = \"surface\"\nrole = \"negative-control\"\n")
                + "[[gate]]\nmetric = \"turns\"\nlimit = 1.25\ncontrasts = [\"g\"]\n",
        ),
        ("unknown metric", gate("metric = \"total_token\"\nlimit = 1.25\n")),
        ("limit and margin", gate("metric = \"turns\"\nlimit = 1.25\nmargin = 0.1\n")),
        ("neither limit nor margin", gate("metric = \"pass_rate\"\n")),
        ("margin on a cost", gate("metric = \"turns\"\nmargin = 0.1\n")),
        ("limit on the pass rate", gate("metric = \"pass_rate\"\nlimit = 1.25\n")),
        ("limit of zero", gate("metric = \"turns\"\nlimit = 0\n")),
        ("limit that is no number", gate("metric = \"turns\"\nlimit = nan\n")),
        ("two rules", gate("metric = \"unneeded_loads\"\nlimit = 1.25\nat-most = 0\n")),
        ("a least rate of a count", gate("metric = \"turns\"\nat-least = 0.95\n")),
        ("a count of tokens", gate("metric = \"total_tokens\"\nat-most = 0\n")),
        ("a rate without a threshold", gate("metric = \"discovery_rate\"\nlimit = 1.25\n")),
        ("outcomes without the metric", gate("metric = \"turns\"\nany-better = [\"wall_ms\"]\n")),
        ("an unknown outcome", gate("metric = \"turns\"\nany-better = [\"turns\", \"walls\"]\n")),
        ("an unknown track", gate("metric = \"turns\"\nlimit = 1.25\ntrack = \"defalt\"\n")),
        ("margin out of range", gate("metric = \"pass_rate\"\nmargin = 10\n")),
        ("gate on unknown contrasts", gate("metric = \"turns\"\nlimit = 1.25\ncontrasts = [\"h\", \"g\", \"g\"]\n")),
        ("gate on no contrast", gate("metric = \"turns\"\nlimit = 1.25\ncontrasts = []\n")),
        (
            "gate that hangs on nothing",
            "name = \"x\"\n[[arm]]\nname = \"a\"\nsurface = \"bare\"\n[[gate]]\nmetric = \"turns\"\nlimit = 1.25\n".to_owned(),
        ),
        ("unknown scope", gate("metric = \"turns\"\nlimit = 1.25\nscope = \"these-task\"\n")),
        ("second gate of a metric", gate("metric = \"turns\"\nlimit = 1.25\n[[gate]]\nmetric = \"turns\"\nlimit = 1.1\n")),
    ]
}

#[test]
fn every_refusal_names_place_value_and_remedy() {
    let catalogue = catalogue();
    let mut page = String::new();
    for (name, text) in cases() {
        page.push_str(&format!("## {name}\n{}\n\n", refusal(&text, &catalogue)));
    }
    insta::assert_snapshot!(page);
}

#[test]
fn no_refusal_repeats_a_key() {
    let catalogue = catalogue();
    for (name, text) in cases() {
        let shown = refusal(&text, &catalogue);
        assert!(!shown.contains("secret") && !shown.contains("abcdefghijklmnopq"), "{name}: {shown}");
    }
}

#[test]
fn a_machine_without_suites_says_so() {
    let shown =
        refusal(&format!("name = \"x\"\n{BODY}"), &Catalogue { suites: Default::default(), ..catalogue() });
    assert!(shown.starts_with("x.toml: suite: unknown suite `default`; none is known"), "{shown}");
}

/// A wrong word put in place of any quoted value of the default file is reported on that value's line, or accepted where
/// any word is right.
fn places() -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (number, line) in DEFAULT.lines().enumerate() {
        let code = line.split(" #").next().unwrap_or_default();
        if line.starts_with('#') || !code.contains('"') {
            continue;
        }
        found.push((number + 1, code.find('"').map_or(0, |at| at + 1)));
    }
    found
}

proptest! {
    #[test]
    fn a_wrong_word_is_reported_where_it_stands(place in 0..places().len(), word in "[A-Z]{3,8}") {
        let (line, column) = places()[place];
        let mut lines: Vec<String> = DEFAULT.lines().map(str::to_owned).collect();
        let old = lines[line - 1].clone();
        let end = column + old[column..].find('"').unwrap();
        lines[line - 1] = format!("{}{word}{}", &old[..column], &old[end..]);
        let error = load(&lines.join("\n"), Path::new("x.toml"), &catalogue()).unwrap_err();
        let here = |problem: &Problem| problem.position.is_some_and(|(at, from)| at == line && from == column);
        prop_assert!(error.problems.iter().any(here), "line {line}: {error}");
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[a-z\\[\\]=\"0-9\n. {}#,é-]{0,80}") {
        let _ = load(&text, Path::new("x.toml"), &catalogue());
    }

    #[test]
    fn cut_anywhere_the_default_file_is_accepted_or_refused_with_words(at in 0..DEFAULT.len()) {
        if let Err(error) = load(&DEFAULT[..at], Path::new("x.toml"), &catalogue()) {
            prop_assert!(!error.problems.is_empty() && !error.to_string().is_empty());
        }
    }
}
