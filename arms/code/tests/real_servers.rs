//! Declarations of real MCP servers' tools. The servers come from npm; `.ci/run` installs them, pinned, and where they are
//! not, the test names itself as skipped.

#![allow(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test may panic, names what it skips, and reads a tree that is the parser's own"
)]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use bench_code::{Callback, Functions, Reach};
use oxc::allocator::Allocator;
use oxc::ast::ast::{
    Declaration, Program, Statement, TSNamespaceDeclarationBody, TSSignature, TSTupleElement, TSType,
};
use oxc::parser::Parser;
use oxc::semantic::SemanticBuilder;
use oxc::span::SourceType;
use serde_json::{Value, json};

/// Package, arguments, and how many tools its pinned version lists.
const SERVERS: [(&str, &[&str], usize); 3] = [
    ("@modelcontextprotocol/server-filesystem", &["."], 14),
    ("@modelcontextprotocol/server-everything", &[], 13),
    ("@modelcontextprotocol/server-memory", &[], 9),
];

fn installed_below(variable: &str, default: &str) -> PathBuf {
    std::env::var_os(variable).map_or_else(|| PathBuf::from(default), PathBuf::from)
}

/// A server that runs; ended with its handle.
struct Server {
    child: Child,
    stdin: ChildStdin,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
    asked: u64,
}

impl Server {
    /// Starts one in an empty folder of its own.
    fn start(node: &Path, package: &Path, args: &[&str]) -> Self {
        let described: Value =
            serde_json::from_slice(&std::fs::read(package.join("package.json")).unwrap()).unwrap();
        let program = described["bin"].as_object().unwrap().values().next().unwrap().as_str().unwrap();
        let mut child = Command::new(node)
            .arg(package.join(program))
            .args(args)
            .current_dir(env!("CARGO_TARGET_TMPDIR"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, stdin, lines: BufReader::new(stdout).lines(), asked: 0 }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stdin, "{message}").unwrap();
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let line = self.lines.next().expect("the server answers").unwrap();
            let Ok(answer) = serde_json::from_str::<Value>(&line) else { continue };
            if answer["id"] == id && answer.get("method").is_none() {
                return answer["result"].clone();
            }
        }
    }

    /// Every tool, as the engine takes it.
    fn callbacks(&mut self, owner: &str) -> Vec<Callback> {
        let client = json!({"name": "bench", "version": "0"});
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        self.ask("initialize", &hello);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        let listed = self.ask("tools/list", &json!({}));
        let one = |tool: &Value| Callback {
            tool: format!("{owner}__{}", tool["name"].as_str().unwrap()),
            owner: owner.to_owned(),
            description: tool["description"].as_str().unwrap_or_default().to_owned(),
            parameters: tool["inputSchema"].clone(),
            annotations: tool["annotations"].clone(),
            reach: Reach::Model,
        };
        listed["tools"].as_array().unwrap().iter().map(one).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Parses and checks a text as TypeScript, and hands the tree over.
fn compiled<R>(text: &str, look: impl FnOnce(&Program<'_>) -> R) -> R {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, SourceType::ts()).parse();
    let faults: Vec<_> = parsed.diagnostics.errors().collect();
    assert!(faults.is_empty(), "{faults:?}\n{text}");
    let built = SemanticBuilder::new().build(&parsed.program);
    let faults: Vec<_> = built.diagnostics.errors().collect();
    assert!(faults.is_empty(), "{faults:?}\n{text}");
    look(&parsed.program)
}

/// Names of properties that a type tells of, those of types within it too; `!` behind the ones that must be there.
fn told(kind: &TSType<'_>, names: &mut BTreeSet<String>) {
    match kind {
        TSType::TSTypeLiteral(literal) => {
            for member in &literal.members {
                let TSSignature::TSPropertySignature(property) = member else { continue };
                let mark = if property.optional { "" } else { "!" };
                names.insert(format!("{}{mark}", property.key.static_name().unwrap()));
                property.type_annotation.iter().for_each(|of| told(&of.type_annotation, names));
            }
        }
        TSType::TSArrayType(array) => told(&array.element_type, names),
        TSType::TSUnionType(union) => union.types.iter().for_each(|one| told(one, names)),
        TSType::TSIntersectionType(both) => both.types.iter().for_each(|one| told(one, names)),
        TSType::TSParenthesizedType(inner) => told(&inner.type_annotation, names),
        TSType::TSTupleType(tuple) => {
            tuple
                .element_types
                .iter()
                .filter_map(TSTupleElement::as_ts_type)
                .for_each(|one| told(one, names));
        }
        TSType::TSTypeReference(reference) => {
            let arguments = reference.type_arguments.iter().flat_map(|given| &given.params);
            arguments.for_each(|one| told(one, names));
        }
        _ => {}
    }
}

/// Names of properties that a schema accepts, those of schemas within it too; `!` behind the required ones.
fn accepted(schema: &Value, names: &mut BTreeSet<String>) {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    for (name, of) in schema["properties"].as_object().into_iter().flatten() {
        let mark = if required.iter().any(|wanted| wanted == name) { "!" } else { "" };
        names.insert(format!("{name}{mark}"));
        accepted(of, names);
    }
    accepted_within(schema, names);
}

fn accepted_within(schema: &Value, names: &mut BTreeSet<String>) {
    for key in ["items", "additionalProperties"] {
        if schema[key].is_object() {
            accepted(&schema[key], names);
        }
    }
    for key in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        schema[key].as_array().into_iter().flatten().for_each(|one| accepted(one, names));
    }
}

/// The type of the argument of the one function that a declaration declares.
fn argument_names(program: &Program<'_>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for statement in &program.body {
        let Statement::TSNamespaceDeclaration(namespace) = statement else { continue };
        let TSNamespaceDeclarationBody::TSModuleBlock(block) = &namespace.body else { continue };
        for inner in &block.body {
            let Some(Declaration::FunctionDeclaration(function)) = inner.as_declaration() else { continue };
            let parameter = function.params.items.first().expect("every function takes its arguments");
            told(&parameter.type_annotation.as_ref().unwrap().type_annotation, &mut names);
        }
    }
    names
}

#[test]
fn declarations_of_real_servers_compile_and_name_every_parameter() {
    let test = "declarations_of_real_servers_compile_and_name_every_parameter";
    let servers = installed_below("BENCH_MCP_DIR", "/var/lib/bench/mcp").join("node_modules");
    let node =
        installed_below("BENCH_AGENTS_DIR", "/var/lib/bench/agents").join("node/node_modules/.bin/node");
    for (package, args, count) in SERVERS {
        if !servers.join(package).is_dir() || !node.is_file() {
            // Not by `eprintln`: the test harness shows that of failed tests alone.
            let _ = writeln!(
                std::io::stderr(),
                "SKIPPED {test}: {package} below BENCH_MCP_DIR and {} are wanted; .ci/run installs them",
                node.display()
            );
            continue;
        }
        let owner = package.rsplit('-').next().unwrap();
        let callbacks = Server::start(&node, &servers.join(package), args).callbacks(owner);
        assert_eq!(callbacks.len(), count, "{package}: the pinned version lists so many");
        let functions = Functions::of(&callbacks);
        for callback in &callbacks {
            let function = functions.of_tool(&callback.tool).unwrap();
            let called = format!("{}.{}", function.namespace, function.name);
            let mut wanted = BTreeSet::new();
            accepted(&callback.parameters, &mut wanted);
            let declaration = functions.details(std::slice::from_ref(&called)).unwrap();
            assert_eq!(
                compiled(&declaration, argument_names),
                wanted,
                "{declaration}\n{}",
                callback.parameters
            );
        }
        for text in [functions.declarations(), functions.as_methods("agent", usize::MAX)] {
            compiled(&text, |_| ());
        }
    }
}
