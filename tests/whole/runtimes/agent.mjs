// A small agent on the chat wire, with everything that agents written for bun and node use of their system.
import { execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import tls from "node:tls";
import { Worker } from "node:worker_threads";

const ask = async (content) => {
    const answer = await fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${process.env.OPENAI_API_KEY}`, "content-type": "application/json" },
        body: JSON.stringify({ model: process.env.BENCH_MODEL, messages: [{ role: "user", content }], tools: [] }),
    });
    return (await answer.json()).choices[0].message.content;
};

tls.createSecureContext();
new Date().toLocaleString("de-DE", { timeZone: "Asia/Tokyo" });
const file = join(mkdtempSync(join(tmpdir(), "agent-")), randomUUID());
writeFileSync(file, "kept");
if (readFileSync(file, "utf8") !== "kept") throw new Error("a temporary file");
const worker = new Worker("require('node:worker_threads').parentPort.postMessage(7)", { eval: true });
const seven = await new Promise((done, failed) => worker.on("message", done).on("error", failed));
if (seven !== 7) throw new Error("a worker");
const shell = spawn("sh", ["-c", "echo from the shell"], { stdio: ["ignore", "pipe", "inherit"] });
let said = "";
for await (const chunk of shell.stdout) said += chunk;
if (said !== "from the shell\n") throw new Error(said);
const answer = await ask(process.env.BENCH_INSTRUCTION);
execFileSync("touch", ["done"]);
console.log("answered:", answer);
