//! Changes to an experiment file that are asked for on the command line: `--set key=value` and a selection of arms. They
//! are made in the text, comments kept, so that what is stored beside a run is what was run, and every check that a file
//! goes through they go through as well.

use std::str::FromStr;

use bench_core::source::unknown;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Key, TableLike, Value};

/// One `key=value`. Tables of a list are entered by their name: `arm.gateway.surface=all`, `gate.turns.limit=1.1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    path: Vec<String>,
    value: String,
}

/// A change that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// The words are no `key=value`.
    #[error("{0:?} is no key=value; write for example --set repeats=4, or --set arm.gateway.surface=search")]
    NotASetting(String),
    /// The file is not TOML.
    #[error("not valid TOML: {0}")]
    NotToml(String),
    /// The key leads nowhere.
    #[error("--set {key}: {why}")]
    Nowhere {
        /// The key as given.
        key: String,
        /// What is in the way.
        why: String,
    },
    /// An arm that the file does not have.
    #[error("--arm: {0}")]
    Arm(String),
}

impl FromStr for Setting {
    type Err = ChangeError;

    fn from_str(text: &str) -> Result<Self, ChangeError> {
        let no = || ChangeError::NotASetting(text.to_owned());
        let (key, value) = text.split_once('=').ok_or_else(no)?;
        let path: Vec<String> =
            Key::parse(key.trim()).map_err(|_| no())?.iter().map(|key| key.get().to_owned()).collect();
        if path.is_empty() { Err(no()) } else { Ok(Self { path, value: value.trim().to_owned() }) }
    }
}

impl Setting {
    /// A top-level key with a value in TOML's own writing.
    pub fn of(key: &str, value: impl std::fmt::Display) -> Self {
        Self { path: vec![key.to_owned()], value: value.to_string() }
    }

    fn key(&self) -> String {
        self.path.join(".")
    }

    /// Numbers, booleans, lists and quoted text as TOML has them; anything else is text.
    fn value(&self) -> Value {
        self.value.parse().unwrap_or_else(|_| Value::from(self.value.as_str()))
    }
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.key(), self.value)
    }
}

/// The text with these settings in place of its own. Keys that no experiment file has are found when it is loaded.
pub fn with_settings(text: &str, settings: &[Setting]) -> Result<String, ChangeError> {
    let mut document = parsed(text)?;
    for setting in settings {
        let nowhere = |why: String| ChangeError::Nowhere { key: setting.key(), why };
        put(document.as_table_mut(), &setting.path, setting.value()).map_err(nowhere)?;
    }
    Ok(document.to_string())
}

/// The text with these arms alone, the contrasts that both of their arms are left of, and the gates that still have a
/// contrast to hang on.
pub fn with_arms(text: &str, arms: &[String]) -> Result<String, ChangeError> {
    let mut document = parsed(text)?;
    let names = named(&document, "arm");
    for arm in arms {
        if names.contains(arm) {
            continue;
        }
        let hint = match document.contains_key("matrix") {
            true => "; arms that [matrix] makes are chosen by its own lists (--set matrix.discovery='[…]')",
            false => "",
        };
        return Err(ChangeError::Arm(format!("{}{hint}", unknown("arm", arm, &names))));
    }
    let has = |table: &dyn TableLike, key: &str| text_of(table, key).is_none_or(|name| arms.contains(&name));
    retain(&mut document, "arm", |arm| has(arm, "name"));
    retain(&mut document, "contrast", |contrast| has(contrast, "control") && has(contrast, "candidate"));
    let contrasts = named(&document, "contrast");
    retain(&mut document, "gate", |gate| keep_gate(gate, &contrasts));
    if !names.is_empty() {
        document.remove("matrix");
    }
    Ok(document.to_string())
}

/// Takes from a gate the contrasts that are gone; a gate without any goes too.
fn keep_gate(gate: &mut dyn TableLike, contrasts: &[String]) -> bool {
    let Some(list) = gate.get_mut("contrasts").and_then(Item::as_array_mut) else {
        return !contrasts.is_empty();
    };
    list.retain(|name| name.as_str().is_some_and(|name| contrasts.iter().any(|known| known == name)));
    !list.is_empty()
}

fn parsed(text: &str) -> Result<DocumentMut, ChangeError> {
    text.parse().map_err(|error: toml_edit::TomlError| ChangeError::NotToml(error.message().to_owned()))
}

fn retain(document: &mut DocumentMut, key: &str, mut keep: impl FnMut(&mut dyn TableLike) -> bool) {
    let Some(tables) = document.get_mut(key).and_then(Item::as_array_of_tables_mut) else { return };
    let gone: Vec<usize> = (0..tables.len())
        .rev()
        .filter(|&index| tables.get_mut(index).is_some_and(|table| !keep(table)))
        .collect();
    gone.into_iter().for_each(|index| {
        tables.remove(index);
    });
    if tables.is_empty() {
        document.remove(key);
    }
}

fn named(document: &DocumentMut, key: &str) -> Vec<String> {
    let tables = document.get(key).and_then(Item::as_array_of_tables);
    tables.into_iter().flatten().filter_map(|table| text_of(table, "name")).collect()
}

fn text_of(table: &(impl TableLike + ?Sized), key: &str) -> Option<String> {
    table.get(key)?.as_str().map(str::to_owned)
}

/// Puts a value at a path, tables made on the way.
fn put(table: &mut dyn TableLike, path: &[String], value: Value) -> Result<(), String> {
    let Some((key, rest)) = path.split_first() else { return Ok(()) };
    if rest.is_empty() {
        if table.get(key).is_some_and(Item::is_array_of_tables) {
            return Err(format!("`{key}` is a list of tables; name one of them and its key: {key}.NAME.KEY"));
        }
        // In its place, so that the comments before and behind it stay.
        match table.get_mut(key) {
            Some(old) => {
                let mut value = value;
                if let Some(old) = old.as_value() {
                    *value.decor_mut() = old.decor().clone();
                }
                *old = Item::Value(value);
            }
            None => {
                table.insert(key, Item::Value(value));
            }
        }
        return Ok(());
    }
    let item = table.entry(key).or_insert_with(toml_edit::table);
    if let Some(tables) = item.as_array_of_tables_mut() {
        let (name, rest) = rest.split_first().ok_or("a name is missing")?;
        if rest.is_empty() {
            return Err(format!("name the key too: {key}.{name}.KEY"));
        }
        return put(one_of(tables, key, name)?, rest, value);
    }
    match item.as_table_like_mut() {
        Some(inner) => put(inner, rest, value),
        None => Err(format!("`{key}` is a value, not a table")),
    }
}

/// The table of a list that is called so: by its name, else by the metric or model that it speaks of.
fn one_of<'t>(tables: &'t mut ArrayOfTables, key: &str, name: &str) -> Result<&'t mut dyn TableLike, String> {
    let called = |table: &toml_edit::Table| -> Option<String> {
        ["name", "metric", "model"].iter().find_map(|key| text_of(table, key))
    };
    let known: Vec<String> = tables.iter().filter_map(called).collect();
    let found = tables.iter().position(|table| called(table).as_deref() == Some(name));
    match found {
        Some(index) => Ok(tables.get_mut(index).expect("the position was just found")),
        None => Err(unknown(key, name, &known)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# what it is for\n\nname = \"x\" # kept\nrepeats = 2\n[limits]\nturns = 5\n[[arm]]\nname = \"bare\"\nsurface = \"bare\"\n[[arm]]\nname = \"b\"\nsurface = \"gateway\"\n[[arm]]\nname = \"c\"\nsurface = \"all\"\n[[contrast]]\nname = \"b-vs\"\ncontrol = \"bare\"\ncandidate = \"b\"\n[[contrast]]\nname = \"c-vs\"\ncontrol = \"bare\"\ncandidate = \"c\"\n[[gate]]\nmetric = \"turns\"\nlimit = 1.25\n[[gate]]\nmetric = \"tool_calls\"\nlimit = 1.25\ncontrasts = [\"c-vs\"]\n";

    fn set(settings: &[&str]) -> Result<String, ChangeError> {
        let settings: Result<Vec<Setting>, _> = settings.iter().map(|s| s.parse()).collect();
        with_settings(FILE, &settings?)
    }

    #[test]
    fn values_keep_their_kind_and_comments_stay() {
        let text = set(&[
            "name=y",
            "repeats=4",
            "limits.requests=9",
            "arm.b.surface=search",
            "gate.turns.limit=1.5",
        ])
        .unwrap();
        for line in [
            "# what it is for\n\nname = \"y\" # kept",
            "repeats = 4",
            "requests = 9",
            "surface = \"search\"",
            "limit = 1.5",
        ] {
            assert!(text.contains(line), "{line} is missing from\n{text}");
        }
        assert!(set(&["run-limits.cost-usd=2.5"]).unwrap().contains("[run-limits]\ncost-usd = 2.5"));
        assert!(set(&["tasks=[\"a\", \"b\"]"]).unwrap().contains("tasks = [\"a\", \"b\"]"));
    }

    #[test]
    fn what_leads_nowhere_is_named_with_the_remedy() {
        let shown = |setting: &str| set(&[setting]).unwrap_err().to_string();
        assert!(shown("repeats").contains("key=value"));
        assert!(shown("=3").contains("key=value"));
        assert!(shown("arm=3").contains("arm.NAME.KEY"));
        assert!(shown("arm.bar.surface=x").contains("did you mean `bare`"));
        assert!(shown("repeats.x=1").contains("not a table"));
    }

    #[test]
    fn a_selection_of_arms_takes_its_contrasts_and_gates_along() {
        let text = with_arms(FILE, &["bare".into(), "b".into()]).unwrap();
        assert!(!text.contains("c-vs") && !text.contains("tool_calls"), "{text}");
        assert!(text.contains("b-vs") && text.contains("\"turns\""), "{text}");
        let alone = with_arms(FILE, &["c".into()]).unwrap();
        assert!(!alone.contains("[[contrast]]") && !alone.contains("[[gate]]"), "{alone}");
        let error = with_arms(FILE, &["bar".into()]).unwrap_err().to_string();
        assert!(error.contains("did you mean `bare`"), "{error}");
    }
}
