//! Surfaces compared: with a file that was written before (a gate that needs no run), or with each other.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use crate::exit::{Exit, Failure, fail};
use crate::options::SurfaceOptions;
use crate::say;

/// Exit code 1 when the first request of an arm has grown beyond the ratio.
pub(crate) fn check(now: &Value, lock: &Path, options: &SurfaceOptions) -> Result<Exit, Failure> {
    if options.write {
        return write(now, lock);
    }
    if !(options.max_ratio.is_finite() && options.max_ratio > 0.0) {
        return fail(Exit::Usage, format!("--max-ratio {}: write a number above 0", options.max_ratio));
    }
    let remedy = format!("write it with `bench surface --check {} --write`", lock.display());
    let then = read(lock, &remedy)?;
    if then["tokens"]["tokenizer"] != now["tokens"]["tokenizer"] {
        return fail(
            Exit::Usage,
            format!("{}: its tokens were counted by another tokenizer; {remedy} anew", lock.display()),
        );
    }
    let mut grown = false;
    let mut text = String::new();
    for arm in arms(now) {
        let name = arm["arm"].as_str().unwrap_or_default();
        let Some(before) = arm_of(&then, name) else {
            return fail(
                Exit::Usage,
                format!("{}: arm `{name}` is not in it; {remedy} anew", lock.display()),
            );
        };
        // Over one basis: the rendered prompts where both are known, else the JSON of both.
        let prompts = before["prompt"]["tokens"].as_f64().zip(arm["prompt"]["tokens"].as_f64());
        let Some((was, is)) = prompts.or_else(|| body_tokens(before).zip(body_tokens(arm))) else {
            return fail(Exit::Invalid, format!("arm `{name}` made no first request: {}", arm["ending"]));
        };
        let ratio = is / was.max(1.0);
        let verdict = if ratio > options.max_ratio { "GROWN" } else { "ok" };
        let _ = writeln!(
            text,
            "{verdict:<6} {name}: {was} -> {is} tokens ({ratio:.2}, at most {})",
            options.max_ratio
        );
        if ratio > options.max_ratio {
            grown = true;
            text.push_str(&difference(before, arm));
        }
    }
    say::raw(say::harmless(&text).as_bytes());
    Ok(if grown { Exit::GateFailed } else { Exit::Good })
}

/// What differs from the arm of the same name in a file.
pub(crate) fn against(now: &Value, file: &Path) -> Result<Exit, Failure> {
    let then = read(file, "write it with `bench surface --json > FILE`")?;
    let mut text = String::new();
    for arm in arms(now) {
        let name = arm["arm"].as_str().unwrap_or_default();
        match arm_of(&then, name) {
            Some(before) => {
                let _ = writeln!(text, "{name}");
                text.push_str(&difference(before, arm));
            }
            None => {
                let _ = writeln!(text, "{name}\n  it is new");
            }
        }
    }
    say::raw(say::harmless(&text).as_bytes());
    Ok(Exit::Good)
}

/// What differs between two arms.
pub(crate) fn between(now: &Value, one: &str, other: &str) -> Result<Exit, Failure> {
    let (Some(a), Some(b)) = (arm_of(now, one), arm_of(now, other)) else {
        return fail(Exit::Ours, format!("--diff {one} {other}: an arm that was asked for was not recorded"));
    };
    let text = format!("{one} -> {other}\n{}", difference(a, b));
    say::raw(say::harmless(&text).as_bytes());
    Ok(Exit::Good)
}

fn write(now: &Value, lock: &Path) -> Result<Exit, Failure> {
    let text = serde_json::to_string_pretty(now).expect("a surface is a JSON value");
    match std::fs::write(lock, text + "\n") {
        Ok(()) => Ok(Exit::Good),
        Err(error) => {
            fail(Exit::Usage, format!("{}: {error}; name a file that can be written", lock.display()))
        }
    }
}

fn read(file: &Path, remedy: &str) -> Result<Value, Failure> {
    let text = match std::fs::read(file) {
        Ok(text) => text,
        Err(error) => return fail(Exit::Usage, format!("{}: {error}; {remedy}", file.display())),
    };
    match serde_json::from_slice::<Value>(&text) {
        Ok(value) if value["format_version"] == 1 => Ok(value),
        Ok(_) => {
            fail(Exit::Usage, format!("{}: not surfaces of this version; {remedy} anew", file.display()))
        }
        Err(error) => fail(Exit::Usage, format!("{}: {error}; {remedy} anew", file.display())),
    }
}

fn arms(value: &Value) -> impl Iterator<Item = &Value> {
    value["arms"].as_array().into_iter().flatten()
}

fn arm_of<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    arms(value).find(|arm| arm["arm"] == name)
}

fn body_tokens(arm: &Value) -> Option<f64> {
    arm["body"]["tokens"].as_f64()
}

/// Sizes, and the tools that came, went or changed, in tokens.
fn difference(was: &Value, is: &Value) -> String {
    let mut text = String::new();
    for (name, part) in [("body", "body"), ("tools", "tools"), ("system", "system"), ("messages", "messages")]
    {
        let (a, b) = (&was[part]["tokens"], &is[part]["tokens"]);
        if a != b {
            let _ = writeln!(text, "  {name:<18} {a} -> {b} tokens");
        }
    }
    let (before, after) = (tools(was), tools(is));
    for (name, tokens) in &before {
        match after.get(name) {
            None => {
                let _ = writeln!(text, "  - {name:<16} {tokens} tokens");
            }
            Some(now) if now != tokens => {
                let _ = writeln!(text, "  ~ {name:<16} {tokens} -> {now} tokens");
            }
            Some(_) => {}
        }
    }
    for (name, tokens) in after.iter().filter(|(name, _)| !before.contains_key(*name)) {
        let _ = writeln!(text, "  + {name:<16} {tokens} tokens");
    }
    if text.is_empty() { "  no difference in size\n".to_owned() } else { text }
}

fn tools(arm: &Value) -> BTreeMap<String, u64> {
    let tools = arm["tool"].as_array().into_iter().flatten();
    tools.filter_map(|tool| Some((tool["name"].as_str()?.to_owned(), tool["tokens"].as_u64()?))).collect()
}
