// Report pages in a headless Chromium: no console error, no request leaves the file, axe-core finds no serious fault, the
// keyboard gets through, two cells stand side by side, and screenshots are like the golden ones.
//
//   node check.mjs RUN AXE [GOLDEN]      RUN: run directory with report/; AXE: axe.min.js; GOLDEN: folder of images
//   node check.mjs RUN                   only opens report.html and says how long that took
//
// With BENCH_UPDATE_IMAGES=1 the golden images are written instead of compared. Look at them before committing.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const [run, axePath, golden] = process.argv.slice(2).map((path) => resolve(path));
const faults = [];
const fault = (words) => faults.push(words);

// Share of pixels that may differ from a golden image by more than a shade: fonts are drawn a little differently elsewhere.
const TOLERANCE = 0.03;
const SIZES = { desktop: [1280, 900], phone: [390, 844] };

class Browser {
  static open() {
    const browser = new Browser();
    browser.profile = mkdtempSync(join(tmpdir(), "bench-browser-"));
    browser.process = spawn(process.env.CHROMIUM ?? "chromium", [
      "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-extensions",
      "--disable-background-networking", "--force-device-scale-factor=1", "--font-render-hinting=none",
      "--remote-debugging-pipe", `--user-data-dir=${browser.profile}`, "about:blank",
    ], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    browser.waiting = new Map();
    browser.listeners = new Set();
    browser.next = 1;
    let rest = "";
    browser.process.stdio[4].setEncoding("utf8").on("data", (text) => {
      const messages = (rest + text).split("\0");
      rest = messages.pop();
      for (const message of messages.map((one) => JSON.parse(one))) browser.hear(message);
    });
    return browser;
  }

  hear(message) {
    if (message.id === undefined) {
      for (const listener of this.listeners) listener(message);
      return;
    }
    const { done, failed } = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (message.error) failed(new Error(message.error.message)); else done(message.result);
  }

  send(method, params = {}, sessionId = undefined) {
    const id = this.next++;
    this.process.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    return new Promise((done, failed) => this.waiting.set(id, { done, failed }));
  }

  async page() {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    return new Page(this, sessionId);
  }

  async close() {
    await this.send("Browser.close").catch(() => {});
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

class Page {
  constructor(browser, session) {
    this.browser = browser;
    this.session = session;
    this.requests = [];
    browser.listeners.add((message) => {
      if (message.sessionId !== session) return;
      if (message.method === "Network.requestWillBeSent") this.requests.push(message.params.request.url);
      if (message.method === "Log.entryAdded" && message.params.entry.level === "error") fault(`${this.file}: ${message.params.entry.text}`);
      if (message.method === "Runtime.exceptionThrown") fault(`${this.file}: ${message.params.exceptionDetails.text}`);
      if (message.method === "Runtime.consoleAPICalled" && message.params.type === "error") fault(`${this.file}: console error`);
      if (message.method === "Page.loadEventFired") this.loaded?.();
    });
  }

  send(method, params) { return this.browser.send(method, params, this.session); }

  async open(file, [width, height], theme) {
    this.file = file;
    this.requests = [];
    for (const domain of ["Page", "Network", "Log", "Runtime"]) await this.send(`${domain}.enable`);
    await this.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
    await this.send("Emulation.setEmulatedMedia", { features: [
      { name: "prefers-color-scheme", value: theme }, { name: "prefers-reduced-motion", value: "reduce" },
    ] });
    // A page behind another one is never drawn.
    await this.send("Page.bringToFront");
    const loaded = new Promise((done) => { this.loaded = done; });
    const start = performance.now();
    await this.send("Page.navigate", { url: `file://${file}` });
    await loaded;
    await this.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    this.opened = performance.now() - start;
    const left = this.requests.filter((url) => !url.startsWith("data:") && url.split("#")[0] !== `file://${encodeURI(file.split("#")[0])}`);
    if (left.length) fault(`${file}: asks for ${left.join(", ")}`);
  }

  async run(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(`${this.file}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
    return result.value;
  }

  async shot() {
    const { data } = await this.send("Page.captureScreenshot", { format: "png", captureBeyondViewport: false });
    return data;
  }

  async axe() {
    // In a world of its own: the page's policy lets no foreign script run.
    await this.run(readFileSync(axePath, "utf8") + ";0");
    const found = await this.run("axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations.map((v) => [v.impact, v.id, v.nodes.length, v.nodes[0].html.slice(0, 160)]))");
    for (const [impact, id, nodes, html] of found) {
      if (impact === "serious" || impact === "critical") fault(`${this.file}: axe ${impact} ${id} at ${nodes} places: ${html}`);
    }
  }
}

/// Share of pixels that differ by more than a shade; 1 for another size. Decoded by the browser itself.
function differing(page, one, other) {
  return page.run(`(async () => {
    const pixels = async (data) => {
      const image = await createImageBitmap(new Blob([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))]));
      const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
      context.drawImage(image, 0, 0);
      return context.getImageData(0, 0, image.width, image.height);
    };
    const [a, b] = [await pixels(${JSON.stringify(one)}), await pixels(${JSON.stringify(other)})];
    if (a.width !== b.width || a.height !== b.height) return 1;
    let count = 0;
    for (let at = 0; at < a.data.length; at += 4) {
      const off = Math.max(...[0, 1, 2].map((i) => Math.abs(a.data[at + i] - b.data[at + i])));
      if (off > 48) count += 1;
    }
    return count / (a.data.length / 4);
  })()`);
}

async function compare(page, blank, name) {
  if (!golden) return;
  const path = join(golden, `${name}.png`);
  const shot = await page.shot();
  if (process.env.BENCH_UPDATE_IMAGES) {
    mkdirSync(golden, { recursive: true });
    writeFileSync(path, Buffer.from(shot, "base64"));
    return;
  }
  const share = existsSync(path) ? await differing(blank, readFileSync(path).toString("base64"), shot) : 1;
  if (share > TOLERANCE) {
    const kept = join(tmpdir(), `bench-${name}.png`);
    writeFileSync(kept, Buffer.from(shot, "base64"));
    fault(`${name}: ${(share * 100).toFixed(1)} % of the pixels differ from ${path}; this one is ${kept}`);
  }
}

async function keyboard(page) {
  await page.send("Input.dispatchKeyEvent", { type: "keyDown", key: "Tab", code: "Tab", windowsVirtualKeyCode: 9 });
  const skip = await page.run("document.activeElement.className");
  if (skip !== "skip") fault(`${page.file}: the first stop of the keyboard is not the way to the content`);
  const hidden = await page.run("[...document.querySelectorAll('a[href], button, input, select, summary')].filter((e) => e.tabIndex < 0).length");
  if (hidden) fault(`${page.file}: ${hidden} controls that the keyboard does not reach`);
}

async function sideBySide(page) {
  const wide = await page.run(`(() => {
    const right = document.getElementById("right");
    right.value = right.options[right.options.length - 1].value;
    right.dispatchEvent(new Event("change"));
    const shown = [...document.querySelectorAll("section.cell")].filter((cell) => !cell.hidden);
    const lefts = new Set(shown.map((cell) => Math.round(cell.querySelector(".turn").getBoundingClientRect().left)));
    return [shown.length, lefts.size];
  })()`);
  if (String(wide) !== "2,2") fault(`${page.file}: two cells do not stand side by side (${wide})`);
}

async function overflow(page) {
  const wide = await page.run("document.documentElement.scrollWidth - innerWidth");
  if (wide > 0) fault(`${page.file}: ${wide} pixels wider than the window of ${await page.run("innerWidth")}`);
}

async function everything(page, blank, report) {
  const traces = join(run, "report/traces");
  const task = readdirSync(traces).sort()[0];
  const trace = join(traces, task, readdirSync(join(traces, task)).sort()[0]);
  for (const [size, window] of Object.entries(SIZES)) {
    for (const theme of ["light", "dark"]) {
      await page.open(report, window, theme);
      await overflow(page);
      await compare(page, blank, `report-${size}-${theme}`);
      await page.axe();
      await page.run("document.getElementById('forest').scrollIntoView()");
      await compare(page, blank, `forest-${size}-${theme}`);
      await page.open(trace, window, theme);
      await overflow(page);
      await compare(page, blank, `trace-${size}-${theme}`);
      await page.axe();
      if (size === "desktop") await sideBySide(page);
    }
  }
}

const browser = Browser.open();
try {
  const blank = await browser.page();
  const page = await browser.page();
  const report = join(run, "report/report.html");
  if (axePath) await everything(page, blank, report);
  await page.open(report, SIZES.desktop, "light");
  console.log(`${report}: open in ${page.opened.toFixed(0)} ms`);
  await keyboard(page);
} finally {
  await browser.close();
}
for (const words of faults) console.error(words);
process.exit(faults.length ? 1 : 0);
