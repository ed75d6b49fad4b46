//! Breakpoints of every kind, as `debug` sets and removes them.

use std::path::Path;

use serde_json::{Value, json};

use super::Inner;
use super::actions::{Job, needed, told};
use super::adapters;
use super::breakpoints::Kind;
use super::client::NoAnswer;
use super::session::Session;
use super::view;

impl Job<'_> {
    pub(super) fn breakpoint(&self, inner: &mut Inner) -> Result<String, String> {
        let asked = self.asked;
        let adds = self.action() == "set_breakpoint";
        let (what, kind) = match (&asked.file, &asked.function) {
            (Some(file), _) => (self.absolute(file), None),
            (None, Some(function)) => (function.clone(), Some(Kind::Function)),
            (None, None) => return Err(format!("{} needs file and line, or function", self.action())),
        };
        let before = inner.breakpoints.clone();
        let mut breakpoint = serde_json::Map::new();
        let extras = [
            ("condition", &asked.condition, "supportsConditionalBreakpoints"),
            ("hitCondition", &asked.hit_condition, "supportsHitConditionalBreakpoints"),
            ("logMessage", &asked.log_message, "supportsLogPoints"),
        ];
        for (key, value, capability) in extras {
            let Some(value) = value else { continue };
            self.capable(inner, capability, key)?;
            breakpoint.insert(key.to_owned(), json!(value));
        }
        let found = match (kind, adds) {
            (None, true) => {
                let line = asked.line.ok_or("set_breakpoint needs line beside file")?;
                breakpoint.insert("line".to_owned(), json!(line));
                inner.breakpoints.add_line(&what, Value::Object(breakpoint));
                true
            }
            (None, false) => inner.breakpoints.remove_lines(&what, asked.line),
            (Some(kind), true) => {
                self.capable(inner, "supportsFunctionBreakpoints", "breakpoints on functions")?;
                breakpoint.insert("name".to_owned(), json!(what));
                inner.breakpoints.add(kind, "name", Value::Object(breakpoint));
                true
            }
            (Some(kind), false) => inner.breakpoints.remove(kind, "name", Some(&what)),
        };
        if !found {
            return Err("there is no breakpoint there".to_owned());
        }
        self.applied(inner, before, kind, &what)
    }

    pub(super) fn instruction_breakpoint(&self, inner: &mut Inner) -> Result<String, String> {
        let reference = needed(self.asked.reference.as_deref(), "reference", self.action())?;
        self.capable(inner, "supportsInstructionBreakpoints", "breakpoints on instructions")?;
        let before = inner.breakpoints.clone();
        if self.action() == "set_instruction_breakpoint" {
            let mut breakpoint = json!({"instructionReference": reference});
            if let Some(offset) = self.asked.offset {
                breakpoint["offset"] = json!(offset);
            }
            if let Some(condition) = &self.asked.condition {
                breakpoint["condition"] = json!(condition);
            }
            inner.breakpoints.add(Kind::Instruction, "instructionReference", breakpoint);
        } else if !inner.breakpoints.remove(Kind::Instruction, "instructionReference", Some(reference)) {
            return Err("there is no breakpoint there".to_owned());
        }
        self.applied(inner, before, Some(Kind::Instruction), reference)
    }

    pub(super) fn data_breakpoint(&self, inner: &mut Inner) -> Result<String, String> {
        self.capable(inner, "supportsDataBreakpoints", "breakpoints on data")?;
        let id = match (&self.asked.data_id, &self.asked.name) {
            (Some(id), _) => id.clone(),
            (None, Some(name)) => {
                let at = self.chosen(inner)?;
                let body = self.data_info(&inner.sessions[at], name)?;
                let why = body["description"].as_str().unwrap_or_default().to_owned();
                body["dataId"].as_str().ok_or_else(|| format!("{name} cannot be watched: {why}"))?.to_owned()
            }
            (None, None) => {
                return Err(format!("{} needs name, or data_id from data_breakpoint_info", self.action()));
            }
        };
        let before = inner.breakpoints.clone();
        if self.action() == "set_data_breakpoint" {
            let access = self.asked.access.as_deref().unwrap_or("write");
            let mut breakpoint = json!({"dataId": id, "accessType": access});
            if let Some(condition) = &self.asked.condition {
                breakpoint["condition"] = json!(condition);
            }
            inner.breakpoints.add(Kind::Data, "dataId", breakpoint);
        } else if !inner.breakpoints.remove(Kind::Data, "dataId", Some(&id)) {
            return Err("there is no breakpoint there".to_owned());
        }
        self.applied(inner, before, Some(Kind::Data), &id)
    }

    /// What watching a variable takes: a member of what is opened, a variable of the innermost frame, or an expression.
    pub(super) fn data_info(&self, session: &Session, name: &str) -> Result<Value, String> {
        let ask = |arguments: Value| told(session.client.ask("dataBreakpointInfo", arguments, self.deadline));
        if let Some(reference) = self.asked.variables_reference {
            return ask(json!({"name": name, "variablesReference": reference}));
        }
        let frame = self.frame(session)?;
        for scope in told(view::scopes(session, &json!(frame), self.deadline))? {
            let arguments =
                json!({"name": name, "variablesReference": scope["variablesReference"], "frameId": frame});
            let body = ask(arguments)?;
            if body["dataId"].is_string() {
                return Ok(body);
            }
        }
        // lldb takes what an expression gives for the place itself.
        let place = match session.adapter.dialect {
            adapters::Dialect::Lldb => format!("&({name})"),
            adapters::Dialect::Debugpy | adapters::Dialect::Plain => name.to_owned(),
        };
        ask(json!({"name": place, "frameId": frame}))
    }

    /// Refuses what no open session can do.
    pub(super) fn capable(&self, inner: &Inner, capability: &str, what: &str) -> Result<(), String> {
        match inner.sessions.iter().find(|session| !session.can(capability)) {
            Some(session) => Err(format!("the adapter {} cannot do this: {what}", session.adapter.name)),
            None => Ok(()),
        }
    }

    /// Tells every session of a change; one that refuses it puts the list back.
    pub(super) fn applied(
        &self,
        inner: &mut Inner,
        before: super::Breakpoints,
        kind: Option<Kind>,
        what: &str,
    ) -> Result<String, String> {
        let mut found = Vec::new();
        for session in &inner.sessions {
            let answer = match kind {
                None => inner.breakpoints.apply_lines(session, what, self.deadline),
                Some(kind) => inner.breakpoints.apply(session, kind, self.deadline),
            };
            match answer {
                Ok(answer) if found.is_empty() => found = answer,
                Ok(_) => {}
                Err(NoAnswer::Refused(why)) => {
                    inner.breakpoints = before;
                    return Err(why);
                }
                Err(other) => return Err(other.told()),
            }
        }
        if inner.sessions.is_empty() {
            return Ok("Kept for the next launch.".to_owned());
        }
        let shown = Path::new(what).strip_prefix(self.folder).map_or(what.into(), Path::to_string_lossy);
        let line = |breakpoint: &Value| {
            let at = breakpoint["line"].as_u64().map(|line| format!(" at line {line}")).unwrap_or_default();
            let state = if breakpoint["verified"] == true { "set" } else { "not bound yet" };
            let why = breakpoint["message"].as_str().map(|why| format!(": {why}")).unwrap_or_default();
            format!("{state}{at}{why}")
        };
        let lines: Vec<String> = found.iter().map(line).collect();
        Ok(if lines.is_empty() {
            format!("{shown}: none left")
        } else {
            format!("{shown}: {}", lines.join("; "))
        })
    }
}
