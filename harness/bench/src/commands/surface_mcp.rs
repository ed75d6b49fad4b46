//! `bench surface --mcp 'CMD'`: what the tools of an MCP server add to a first request if each is shown as a function.
//!
//! The server is started as a command of the caller's, spoken to over its standard input and output, asked for its tools
//! and ended. No tool is called.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use bench_proxy::Counter;
use serde_json::{Value, json};

use crate::exit::{Exit, Failure, OrExit, fail};
use crate::say;

/// Patience for one answer: a server may fetch itself first.
const PATIENCE: Duration = Duration::from_secs(60);
/// Version of the protocol that is offered; servers answer with theirs.
const PROTOCOL: &str = "2025-06-18";
/// Pages of a list of tools; a server that never ends its list is broken.
const PAGES: usize = 100;

/// A tool as the model would be shown it.
struct McpTool {
    name: String,
    description_tokens: u64,
    bytes: u64,
    tokens: u64,
}

/// Lists each server's tools with their sizes.
pub(crate) fn mcp(commands: &[String], tokenizer: &str, as_json: bool) -> Result<Exit, Failure> {
    let counter = Counter::new(tokenizer).or_exit(Exit::Usage)?;
    let mut servers = Vec::new();
    for command in commands {
        let definitions = match definitions(command) {
            Ok(definitions) => definitions,
            Err(why) => {
                return fail(
                    Exit::Usage,
                    format!(
                        "--mcp {command:?}: {why}; try the command in a terminal: it must speak MCP on standard output"
                    ),
                );
            }
        };
        let tools: Vec<McpTool> = definitions.iter().map(|tool| measured(tool, &counter)).collect();
        servers.push((command, tools));
    }
    if as_json {
        let value = json!({
            "format_version": 1, "tokenizer": tokenizer,
            "servers": servers.iter().map(|(command, tools)| server_json(command, tools)).collect::<Vec<_>>(),
        });
        say::line(&serde_json::to_string_pretty(&value).expect("sizes are a JSON value"));
    } else {
        let text: String = servers.iter().map(|(command, tools)| table(command, tools, tokenizer)).collect();
        say::raw(say::harmless(&text).as_bytes());
    }
    Ok(Exit::Good)
}

fn measured(tool: &Value, counter: &Counter) -> McpTool {
    let name = tool["name"].as_str().unwrap_or_default().to_owned();
    let description = tool["description"].as_str().unwrap_or_default();
    let function = json!({"type": "function", "function": {
        "name": name, "description": description, "parameters": tool["inputSchema"],
    }});
    let definition = function.to_string();
    McpTool {
        name,
        description_tokens: counter.count(description),
        bytes: definition.len() as u64,
        tokens: counter.count(&definition),
    }
}

fn server_json(command: &str, tools: &[McpTool]) -> Value {
    let each = |tool: &McpTool| json!({"name": tool.name, "bytes": tool.bytes, "tokens": tool.tokens, "description_tokens": tool.description_tokens});
    json!({
        "command": command,
        "tools": {"entries": tools.len(), "bytes": total(tools, |t| t.bytes), "tokens": total(tools, |t| t.tokens)},
        "tool": tools.iter().map(each).collect::<Vec<_>>(),
    })
}

fn total(tools: &[McpTool], part: fn(&McpTool) -> u64) -> u64 {
    tools.iter().map(part).sum()
}

fn table(command: &str, tools: &[McpTool], tokenizer: &str) -> String {
    let mut text = format!(
        "{command}\n  {} tools as functions: {} bytes, {} tokens by {tokenizer}\n",
        tools.len(),
        total(tools, |t| t.bytes),
        total(tools, |t| t.tokens)
    );
    for tool in tools {
        text.push_str(&format!(
            "  {:<32} {:>6} tokens  {:>6} bytes  (description {} tokens)\n",
            tool.name, tool.tokens, tool.bytes, tool.description_tokens
        ));
    }
    text
}

/// Every tool that the server lists.
fn definitions(command: &str) -> Result<Vec<Value>, String> {
    let mut server = Server::start(command)?;
    let hello = json!({"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "bench", "version": env!("CARGO_PKG_VERSION")}});
    server.ask("initialize", hello)?;
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
    let mut tools = Vec::new();
    let mut cursor = Value::Null;
    for _ in 0..PAGES {
        let params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
        let page = server.ask("tools/list", params)?;
        tools.extend(page["tools"].as_array().cloned().unwrap_or_default());
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            return Ok(tools);
        }
    }
    Err(format!("its list of tools has more than {PAGES} pages"))
}

/// A server that runs; ended when dropped.
struct Server {
    child: Child,
    lines: Receiver<String>,
    next: u64,
}

impl Server {
    fn start(command: &str) -> Result<Self, String> {
        let mut child = Command::new("/bin/sh")
            .args(["-c", &format!("exec {command}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let stdout = child.stdout.take().expect("standard output is piped");
        let (sender, lines) = channel();
        // Ends with the server's output.
        std::thread::spawn(move || {
            BufReader::new(stdout).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Ok(Self { child, lines, next: 1 })
    }

    fn send(&mut self, message: &Value) -> Result<(), String> {
        let stdin = self.child.stdin.as_mut().expect("standard input is piped");
        writeln!(stdin, "{message}").map_err(|error| format!("it does not read: {error}"))
    }

    /// Asks and waits for the answer; what else it says meanwhile is passed over.
    fn ask(&mut self, method: &str, params: Value) -> Result<Value, String> {
        let id = self.next;
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let line = self.lines.recv_timeout(PATIENCE).map_err(|_| format!("no answer to {method}"))?;
            let Ok(answer) = serde_json::from_str::<Value>(&line) else { continue };
            if answer["id"] != id || answer.get("method").is_some() {
                continue;
            }
            return match answer.get("error") {
                Some(error) => Err(format!("{method}: {}", error["message"])),
                None => Ok(answer["result"].clone()),
            };
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
