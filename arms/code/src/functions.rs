//! The functions that code can call: tools with their schemas, made into names, declarations and look-ups. Made once for
//! a set of tools and kept under a hash that does not depend on their order.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::schema::{Comments, in_comment, is_identifier, property, type_of};

/// A tool as it comes to the engine.
#[derive(Debug, Clone, PartialEq)]
pub struct Callback {
    /// The tool's whole name; a prefix before `__` is its namespace.
    pub tool: String,
    /// Who brought it: the namespace of a name without prefix.
    pub owner: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
    /// Hints on what a call does, as the tool's owner gave them; null = none.
    pub annotations: Value,
    /// Who may see and call it.
    pub reach: Reach,
}

/// Is a tool one that code may call?
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Reach {
    /// Yes.
    #[default]
    Model,
    /// It shows a resource of this address to a user; not for code.
    Resource(String),
    /// The model may not see it; not for code.
    Invisible,
}

/// A function that code can call.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// The tool behind it.
    pub tool: String,
    /// Its namespace, an identifier.
    pub namespace: String,
    /// Its name within the namespace, an identifier.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Type of its argument.
    pub arguments: String,
    /// The same with descriptions as comments.
    pub told: String,
    /// Types that refer to themselves: name and type.
    pub named: Vec<(String, String)>,
    /// Hints on what a call does; null = none.
    pub annotations: Value,
}

/// A set of functions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Functions {
    functions: Vec<Function>,
}

impl Functions {
    /// Makes the functions of a set of tools, sorted by namespace and name; what is not for code is left out.
    pub fn of(callbacks: &[Callback]) -> Self {
        let for_code = |callback: &&Callback| match callback.reach {
            Reach::Model => true,
            Reach::Resource(_) | Reach::Invisible => false,
        };
        let mut sorted: Vec<&Callback> = callbacks.iter().filter(for_code).collect();
        sorted.sort_by(|a, b| split(a).cmp(&split(b)).then_with(|| a.tool.cmp(&b.tool)));
        let mut taken: BTreeMap<(String, String), u32> = BTreeMap::new();
        let functions = sorted.into_iter().map(|callback| function(callback, &mut taken)).collect();
        Self { functions }
    }

    /// All of them, in order.
    pub fn all(&self) -> &[Function] {
        &self.functions
    }

    /// The function of a tool.
    pub fn of_tool(&self, tool: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.tool == tool)
    }

    /// The function of this name: `Namespace.function`, or the tool's whole name.
    pub fn named(&self, name: &str) -> Option<&Function> {
        let wanted = |function: &&Function| {
            function.tool == name
                || name
                    .split_once('.')
                    .is_some_and(|(ns, rest)| function.namespace == ns && function.name == rest)
        };
        self.functions.iter().find(wanted)
    }

    /// One line for each function as a method of an object that holds them by the names of their tools: types without
    /// descriptions, and what it does in a sentence. What is not `own` is declared namespace by namespace as far as `room` bytes go, and named otherwise.
    pub fn as_methods(&self, own: &str, mut room: usize) -> String {
        let line = |function: &&Function| {
            let about = first_line(&function.description);
            format!(
                "  {}(args: {}): Promise<unknown>; // {about}\n",
                property(&function.tool),
                function.arguments
            )
        };
        let (mut types, mut methods, mut left_out) = (String::new(), String::new(), String::new());
        for (namespace, functions) in self.by_namespace() {
            let lines: String = functions.iter().map(line).collect();
            let named: String =
                functions.iter().flat_map(|function| &function.named).map(named_type).collect();
            let is_own = namespace == capitalised(own);
            if is_own || lines.len() + named.len() <= room {
                room -= if is_own { 0 } else { lines.len() + named.len() };
                types.push_str(&named);
                methods.push_str(&lines);
            } else {
                left_out.push_str(&format!(
                    "// {} more functions of {namespace}: searchTools(words) within a script finds them and tells their arguments.\n",
                    functions.len()
                ));
            }
        }
        format!("{types}declare const tool: {{\n{methods}}};\n{left_out}")
    }

    /// Every namespace with its functions and what they do in a line each.
    pub fn listing(&self) -> String {
        let mut text = String::new();
        for (namespace, functions) in self.by_namespace() {
            text.push_str(&format!("// namespace {namespace}\n"));
            for function in functions {
                text.push_str(&format!(
                    "{namespace}.{}: {}\n",
                    function.name,
                    first_line(&function.description)
                ));
            }
        }
        text
    }

    /// Names of functions alone, a namespace a line.
    pub fn names(&self) -> String {
        let line = |(namespace, functions): (&str, Vec<&Function>)| {
            let names: Vec<&str> = functions.iter().map(|function| function.name.as_str()).collect();
            format!("{namespace}: {}\n", names.join(", "))
        };
        self.by_namespace().into_iter().map(line).collect()
    }

    /// The whole declarations of some functions. The error names those that do not exist.
    ///
    /// # Errors
    /// Names that no function has.
    pub fn details(&self, names: &[String]) -> Result<String, String> {
        let unknown: Vec<&str> =
            names.iter().filter(|name| self.named(name).is_none()).map(String::as_str).collect();
        if !unknown.is_empty() {
            return Err(format!(
                "there is no function {}; the functions are\n{}",
                unknown.join(", "),
                self.names()
            ));
        }
        let found = names.iter().filter_map(|name| self.named(name));
        Ok(found.map(declaration).collect::<Vec<_>>().join("\n"))
    }

    /// The declarations of everything: namespaces, functions, descriptions.
    pub fn declarations(&self) -> String {
        self.functions.iter().map(declaration).collect::<Vec<_>>().join("\n")
    }

    /// A tree of files that declare everything: path and content, a folder a namespace.
    pub fn files(&self) -> Vec<(String, String)> {
        let mut files = vec![("README.md".to_owned(), self.readme())];
        for function in &self.functions {
            files.push((format!("{}/{}.d.ts", function.namespace, function.name), declaration(function)));
        }
        files
    }

    fn readme(&self) -> String {
        format!(
            "One folder a namespace, one file a function; call them as Namespace.function(args).\n\n{}",
            self.names()
        )
    }

    fn by_namespace(&self) -> Vec<(&str, Vec<&Function>)> {
        let mut found: Vec<(&str, Vec<&Function>)> = Vec::new();
        for function in &self.functions {
            match found.last_mut() {
                Some((namespace, functions)) if *namespace == function.namespace => functions.push(function),
                _ => found.push((&function.namespace, vec![function])),
            }
        }
        found
    }
}

/// The functions of the tools asked for last, kept until the set of tools changes.
#[derive(Debug, Default)]
pub struct FunctionCache {
    last: Option<(String, Arc<Functions>)>,
}

impl FunctionCache {
    /// The functions of these tools. The same tools in another order are the same set.
    pub fn of(&mut self, callbacks: &[Callback]) -> Arc<Functions> {
        let hash = hash_of(callbacks);
        if let Some((known, functions)) = &self.last
            && *known == hash
        {
            return Arc::clone(functions);
        }
        let functions = Arc::new(Functions::of(callbacks));
        self.last = Some((hash, Arc::clone(&functions)));
        functions
    }
}

/// A hash of a set of tools that does not depend on their order.
pub fn hash_of(callbacks: &[Callback]) -> String {
    let mut each: Vec<String> = callbacks
        .iter()
        .map(|c| {
            let reach = format!("{:?}", c.reach);
            serde_json::json!([c.tool, c.owner, c.description, c.parameters, c.annotations, reach])
                .to_string()
        })
        .collect();
    each.sort_unstable();
    let mut hasher = Sha256::new();
    for text in each {
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text);
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Namespace and name of a tool as its name says them: `prefix__tool`, a server's `mcp__` before it left out.
fn split(callback: &Callback) -> (&str, &str) {
    let name =
        callback.tool.strip_prefix("mcp__").filter(|rest| rest.contains("__")).unwrap_or(&callback.tool);
    match name.split_once("__") {
        Some((prefix, rest)) if !prefix.is_empty() && !rest.is_empty() => (prefix, rest),
        _ => (&callback.owner, name),
    }
}

fn function(callback: &Callback, taken: &mut BTreeMap<(String, String), u32>) -> Function {
    let (namespace, name) = split(callback);
    let namespace = identifier(&capitalised(namespace));
    let mut name = identifier(name);
    let times = taken.entry((namespace.clone(), name.clone())).or_insert(0);
    *times += 1;
    if *times > 1 {
        name = format!("{name}_{times}");
    }
    let prefix = format!("{namespace}{}", capitalised(&name));
    let bare = type_of(&callback.parameters, &prefix, Comments::LeftOut);
    let told = type_of(&callback.parameters, &prefix, Comments::Shown);
    Function {
        tool: callback.tool.clone(),
        namespace,
        name,
        description: callback.description.clone(),
        arguments: bare.text,
        told: told.text,
        named: bare.named,
        annotations: callback.annotations.clone(),
    }
}

fn declaration(function: &Function) -> String {
    let types: String =
        function.named.iter().map(|(name, text)| format!("type {name} = {text};\n")).collect();
    let hints = match function.annotations.as_object() {
        Some(hints) if !hints.is_empty() => {
            let hints: Vec<String> = hints.iter().map(|(name, value)| format!("{name}={value}")).collect();
            format!("\n@hints {}", in_comment(&hints.join(" ")))
        }
        Some(_) | None => String::new(),
    };
    format!(
        "{types}/** {}{hints} */\ndeclare namespace {} {{ function {}(args: {}): Promise<unknown>; }}\n",
        in_comment(&function.description),
        function.namespace,
        function.name,
        function.told,
    )
}

fn named_type((name, text): &(String, String)) -> String {
    format!("type {name} = {text};\n")
}

fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.split_inclusive(". ").next().unwrap_or_default().trim().to_owned()
}

fn capitalised(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Words that the language keeps for itself.
const RESERVED: [&str; 46] = [
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "var",
    "void",
    "while",
    "with",
    "yield",
];

fn identifier(name: &str) -> String {
    let mut made: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '$' { c } else { '_' })
        .collect();
    if !is_identifier(&made) || RESERVED.contains(&made.as_str()) {
        made.insert(0, '_');
    }
    made
}

#[cfg(test)]
#[path = "functions_tests.rs"]
mod tests;
