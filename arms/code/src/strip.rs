//! TypeScript as a model writes it, made into one JavaScript expression that the worker can evaluate: types taken off,
//! `await` and `return` allowed at the top, names of the top level kept for later scripts, the last expression as result.
//!
//! A script is the body of an async function. Its top-level declarations become assignments to globals, since a variable of
//! the function would be gone with it. Text around the parts that change is left as the generator wrote it, so that a line
//! of an error message can be led back to the model's own line.

#![allow(clippy::wildcard_enum_match_arm, reason = "the tree is the parser's own, not ours")]

use std::path::Path;

use oxc::allocator::Allocator;
use oxc::ast::ast::{Declaration, ExportDefaultDeclarationKind, Program, Statement, VariableDeclaration};
use oxc::ast::ast::{Expression, VariableDeclarationKind};
use oxc::codegen::{Codegen, CodegenOptions};
use oxc::diagnostics::OxcDiagnostic;
use oxc::parser::{ParseOptions, Parser};
use oxc::semantic::SemanticBuilder;
use oxc::span::{GetSpan as _, SourceType};
use oxc::transformer::{TransformOptions, Transformer};

/// A script that can be evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stripped {
    /// One expression; its value is a promise of the script's result.
    pub(crate) code: String,
    /// Names that the script declares at its top, each to be a global before it begins.
    pub(crate) names: Vec<String>,
    /// For each line of the code, from 1, the line of the script, from 1.
    lines: Vec<u32>,
}

impl Stripped {
    /// The line of the script from which a line of the code comes.
    pub(crate) fn line(&self, of_code: u32) -> u32 {
        let at = (of_code.max(1) as usize - 1).min(self.lines.len().saturating_sub(1));
        self.lines.get(at).copied().unwrap_or(of_code)
    }
}

/// What takes the types off.
///
/// # Errors
/// What is no script, with its line and column.
pub(crate) fn strip(script: &str) -> Result<Stripped, String> {
    let script = script.strip_prefix('\u{feff}').unwrap_or(script);
    let allocator = Allocator::default();
    let source = SourceType::ts().with_module(true);
    let parsed = Parser::new(&allocator, script, source).with_options(options()).parse();
    if let Some(fault) = parsed.diagnostics.errors().next() {
        return Err(told(fault, script));
    }
    let mut program = parsed.program;
    if let Some(fault) = module_part(&program) {
        return Err(fault);
    }
    let built = SemanticBuilder::new().with_excess_capacity(2.0).with_enum_eval(true).build(&program);
    if let Some(fault) = built.diagnostics.errors().next() {
        return Err(told(fault, script));
    }
    let transformed = Transformer::new(&allocator, Path::new("script.ts"), &TransformOptions::default())
        .build_with_scoping(built.semantic.into_scoping(), &mut program);
    if let Some(fault) = transformed.diagnostics.errors().next() {
        return Err(told(fault, script));
    }
    let with_map = CodegenOptions { source_map_path: Some("script.ts".into()), ..CodegenOptions::default() };
    let made = Codegen::new().with_options(with_map).with_source_text(script).build(&program);
    let mut lines = Vec::new();
    for token in made.map.iter().flat_map(|map| map.get_tokens()) {
        let at = token.get_dst_line() as usize;
        while lines.len() <= at {
            lines.push(token.get_src_line() + 1);
        }
    }
    let (code, names) = in_function(&made.code)?;
    Ok(Stripped { code, names, lines })
}

fn options() -> ParseOptions {
    ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() }
}

fn told(fault: &OxcDiagnostic, script: &str) -> String {
    let at = fault.labels.first().map(|label| label.offset());
    match at {
        Some(offset) => {
            let before = &script[..script.floor_char_boundary(offset as usize)];
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            format!("line {line}, column {column}: {}", fault.message)
        }
        None => fault.message.to_string(),
    }
}

/// What only a module can hold and a script cannot: there is nothing to import from, and nobody imports it.
fn module_part(program: &Program<'_>) -> Option<String> {
    program.body.iter().find_map(|statement| match statement {
        Statement::ImportDeclaration(import) if !import.import_kind.is_type() => Some(format!(
            "there is no module {:?} to import: a script has the language and the declared functions, nothing else",
            import.source.value
        )),
        Statement::ExportAllDeclaration(_) | Statement::ExportFromDeclaration(_) => {
            Some("a script cannot export from a module".to_owned())
        }
        Statement::ExportDefaultDeclaration(export)
            if matches!(export.declaration, ExportDefaultDeclarationKind::TSInterfaceDeclaration(_)) =>
        {
            Some("a script cannot export a default type".to_owned())
        }
        _ => None,
    })
}

/// A change of the code: what stands between two offsets becomes this text.
struct Change {
    from: u32,
    to: u32,
    text: String,
}

/// The code as the body of an async function, its top-level names as globals.
fn in_function(code: &str) -> Result<(String, Vec<String>), String> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, code, SourceType::mjs()).with_options(options()).parse();
    if let Some(fault) = parsed.diagnostics.errors().next() {
        return Err(told(fault, code));
    }
    let mut top = Top { code, names: Vec::new(), functions: String::new(), changes: Vec::new(), runs: false };
    let body = &parsed.program.body;
    for statement in body {
        top.statement(statement);
    }
    let mut ending = String::new();
    match body.last() {
        Some(Statement::ExpressionStatement(last)) => {
            let (from, to) = (last.span.start, last.span.end);
            let text = format!(
                "return ({}\n);",
                span_text(code, last.expression.span().start, last.expression.span().end)
            );
            top.changes.push(Change { from, to, text });
        }
        // A function of this name is the script by a custom of some products.
        Some(_) if top.runs => ending.push_str("return await run();"),
        Some(_) => {}
        None => {
            if let Some(last) = parsed.program.directives.last() {
                ending = format!(
                    "return {};",
                    span_text(code, last.expression.span.start, last.expression.span.end)
                );
            }
        }
    }
    let Top { names, functions, mut changes, .. } = top;
    changes.sort_by_key(|change| change.from);
    let mut body = String::new();
    let mut at = 0;
    for change in &changes {
        body.push_str(span_text(code, at, change.from));
        body.push_str(&change.text);
        at = change.to;
    }
    body.push_str(&code[at as usize..]);
    Ok((format!("(async () => {{{functions}{body}\n{ending}}})()"), names))
}

fn span_text(code: &str, from: u32, to: u32) -> &str {
    &code[from as usize..to as usize]
}

struct Top<'c> {
    code: &'c str,
    names: Vec<String>,
    /// Makes each declared function a global; functions exist before the first statement.
    functions: String,
    changes: Vec<Change>,
    /// Is there a function `run` without parameters?
    runs: bool,
}

impl Top<'_> {
    fn statement(&mut self, statement: &Statement<'_>) {
        match statement {
            Statement::VariableDeclaration(declared) => self.variables(declared),
            Statement::FunctionDeclaration(function) => {
                if let Some(id) = &function.id {
                    self.function(id.name.as_str(), function.params.items.is_empty());
                }
            }
            Statement::ClassDeclaration(class) => {
                if let Some(id) = &class.id {
                    self.class(id.name.as_str(), class.span.start, class.span.end);
                }
            }
            Statement::ExportDeclaration(export) => {
                let start = export.declaration.span().start;
                self.changes.push(Change { from: export.span.start, to: start, text: String::new() });
                self.declaration(&export.declaration);
            }
            Statement::ExportNamedDeclaration(export) => {
                self.changes.push(Change { from: export.span.start, to: export.span.end, text: ";".into() });
            }
            Statement::ExportDefaultDeclaration(export) => {
                let (from, to) = (export.span.start, export.declaration.span().start);
                if let ExportDefaultDeclarationKind::FunctionDeclaration(function) = &export.declaration
                    && let Some(id) = &function.id
                {
                    self.changes.push(Change { from, to, text: String::new() });
                    self.function(id.name.as_str(), function.params.items.is_empty());
                } else {
                    self.changes.push(Change { from, to, text: "return ".to_owned() });
                }
            }
            _ => {}
        }
    }

    fn declaration(&mut self, declaration: &Declaration<'_>) {
        match declaration {
            Declaration::VariableDeclaration(declared) => self.variables(declared),
            Declaration::FunctionDeclaration(function) => {
                if let Some(id) = &function.id {
                    self.function(id.name.as_str(), function.params.items.is_empty());
                }
            }
            Declaration::ClassDeclaration(class) => {
                if let Some(id) = &class.id {
                    self.class(id.name.as_str(), class.span.start, class.span.end);
                }
            }
            _ => {}
        }
    }

    fn function(&mut self, name: &str, bare: bool) {
        self.functions.push_str(&format!("globalThis.{name} = {name};"));
        self.runs |= name == "run" && bare;
    }

    fn class(&mut self, name: &str, from: u32, to: u32) {
        self.names.push(name.to_owned());
        self.changes.push(Change { from, to: from, text: format!("{name} = ") });
        self.changes.push(Change { from: to, to, text: ";".to_owned() });
    }

    fn variables(&mut self, declared: &VariableDeclaration<'_>) {
        match declared.kind {
            VariableDeclarationKind::Var | VariableDeclarationKind::Let | VariableDeclarationKind::Const => {}
            // Their end is the end of the script, as it is for a variable of the function.
            VariableDeclarationKind::Using | VariableDeclarationKind::AwaitUsing => return,
        }
        let mut assignments = Vec::new();
        for declarator in &declared.declarations {
            let bound = declarator.id.get_binding_identifiers();
            self.names.extend(bound.into_iter().map(|id| id.name.to_string()));
            let name = span_text(self.code, declarator.id.span().start, declarator.id.span().end);
            match &declarator.init {
                Some(init) => assignments.push(format!("({name} = {})", self.value(init))),
                None if declared.kind == VariableDeclarationKind::Let => {
                    assignments.push(format!("({name} = void 0)"))
                }
                None => {}
            }
        }
        let text = format!("{};", assignments.join(", "));
        self.changes.push(Change { from: declared.span.start, to: declared.span.end, text });
    }

    fn value(&self, init: &Expression<'_>) -> &str {
        span_text(self.code, init.span().start, init.span().end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(script: &str) -> String {
        strip(script).unwrap().code
    }

    #[test]
    fn types_are_taken_off_and_names_of_the_top_become_globals() {
        let script = "interface A { a: number }\nconst x: A = { a: 1 } as A, { y, z: [w] } = f<A>();\nlet n: string;\nvar v;\nx.a satisfies number";
        let stripped = strip(script).unwrap();
        assert_eq!(stripped.names, ["x", "y", "w", "n", "v"]);
        assert!(
            !stripped.code.contains("interface") && !stripped.code.contains("const"),
            "{}",
            stripped.code
        );
        assert!(stripped.code.contains("(x = { a: 1 })") && stripped.code.contains("(n = void 0);"));
        assert!(stripped.code.contains("return (x.a\n);"), "{}", stripped.code);
    }

    #[test]
    fn functions_classes_enums_and_exports_are_kept_too() {
        let stripped =
            strip("export function f() {}\nexport class C {}\nenum E { A, B }\nexport const k = 1;").unwrap();
        assert!(stripped.code.contains("globalThis.f = f;"), "{}", stripped.code);
        assert!(stripped.code.contains("C = class C {};"), "{}", stripped.code);
        assert!(!stripped.code.contains("export"), "{}", stripped.code);
        for name in ["C", "E", "k"] {
            assert!(stripped.names.iter().any(|n| n == name), "{name}: {:?}", stripped.names);
        }
    }

    #[test]
    fn what_is_inside_a_function_stays_as_it_is() {
        let code = code("async function run() { const a = await tool.x({}); return a; }");
        assert!(
            code.contains("const a = await tool.x({});") && code.contains("return await run();"),
            "{code}"
        );
    }

    #[test]
    fn a_fault_has_its_place() {
        assert!(strip("const a = 1;\nconst b = = 2;").unwrap_err().starts_with("line 2, column 11: "));
        assert!(strip("import fs from 'fs'; fs.x()").unwrap_err().contains("\"fs\""));
        assert!(strip("let a; let a;").is_err());
        assert!(strip("}); evil(); (async () => {").is_err());
    }

    #[test]
    fn a_line_of_the_code_is_led_back() {
        let stripped = strip("type A = {\n  a: 1;\n};\n\nconst a: A = f();\nthrow a;").unwrap();
        let line = stripped.code.lines().position(|line| line.contains("throw")).unwrap() as u32 + 1;
        assert_eq!(stripped.line(line), 6, "{}", stripped.code);
    }

    #[test]
    fn scripts_of_one_string_and_of_nothing() {
        assert!(code("'hello'").contains("return 'hello'") || code("'hello'").contains("return \"hello\""));
        assert_eq!(code(""), "(async () => {\n})()");
    }
}
