// The explorer in a real browser. Usage: node explorer.mjs ADDRESS MODULES CHROMIUM PICTURES
// The corpus is the one of crates/server/tests/served: eight subjects, a document with a script in it.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [address, modules, executablePath, pictures] = process.argv.slice(2);
const { chromium } = createRequire(join(modules, "package.json"))("playwright-core");
const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const browser = await chromium.launch({ executablePath, args });

async function opened(fragment = "", options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  page.wrong = [];
  page.on("pageerror", (error) => page.wrong.push(String(error)));
  page.on("console", (message) => { if (message.type() === "error") page.wrong.push(message.text()); });
  await page.goto(`${address}/${fragment}`);
  await page.waitForSelector("body[data-ready]");
  await page.waitForSelector("#node h2", { state: "attached" });
  return page;
}
const heading = (page) => page.textContent("#node h2");
const current = (page) => page.textContent("#crumbs [aria-current]");

const checks = {
  async "the page loads and draws"() {
    const page = await opened();
    assert.equal(await page.textContent("#name"), "Test corpus");
    const painted = await page.evaluate(() => {
      const canvas = document.getElementById("tree");
      const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      const colours = new Set();
      for (let at = 0; at < data.length; at += 4) colours.add((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
      return colours.size;
    });
    assert.ok(painted > 10, `${painted} colours`);
    await page.screenshot({ path: join(pictures, "light.png") });
    return page;
  },
  async "a click chooses a node, and the path and the address follow"() {
    const page = await opened();
    const [x, y] = await page.evaluate(() => { const box = document.getElementById("tree").getBoundingClientRect(); return [box.left, box.top]; });
    const width = await page.evaluate(() => document.getElementById("tree").clientWidth);
    const height = await page.evaluate(() => document.getElementById("tree").clientHeight);
    // Node 1: level 1 of 3, a quarter from the left, inside the margins of the drawing.
    await page.mouse.click(x + 30 + (width - 60) / 4, y + 30 + (height - 66) / 3);
    await page.waitForFunction(() => location.hash.includes("node=1"));
    await page.waitForFunction(() => document.querySelectorAll("#crumbs button").length === 2);
    assert.equal(await current(page), await heading(page));
    return page;
  },
  async "breadcrumbs lead back"() {
    const page = await opened("#node=9");
    assert.equal(await page.locator("#crumbs button").count(), 4);
    await page.locator("#crumbs button").nth(1).click();
    await page.waitForFunction(() => location.hash.includes("node=1"));
    await page.locator("#crumbs button").nth(0).click();
    await page.waitForFunction(() => document.querySelector("#node h2")?.textContent === "All documents");
    await page.goBack();
    await page.waitForFunction(() => document.querySelectorAll("#crumbs button").length === 2);
    return page;
  },
  async "a deep link opens its node"() {
    const page = await opened("#node=11");
    assert.match((await heading(page)).toLowerCase(), /flood|basement/);
    return page;
  },
  async "branches show what sets them apart"() {
    const page = await opened("#node=1");
    assert.equal(await page.locator(".branches button").count(), 2);
    await page.locator(".branches button").nth(1).click();
    await page.waitForFunction(() => location.hash.includes("node=4"));
    return page;
  },
  async "words find subjects, grouped by level, completed by keys"() {
    const page = await opened();
    await page.keyboard.press("/");
    await page.fill("#words", "flood");
    assert.ok((await page.locator("#found h3").count()) >= 1);
    assert.ok((await page.locator("#found mark").count()) >= 1);
    await page.press("#words", "ArrowDown");
    assert.equal(await page.locator('#found [aria-selected="true"]').count(), 1);
    await page.press("#words", "Enter");
    await page.waitForFunction(() => /flood/i.test(document.querySelector("#node").textContent));
    assert.ok(await page.locator("#found").isHidden());
    return page;
  },
  async "a query flows, finds, and is explained"() {
    const page = await opened();
    await page.fill("#question", "flood damage in the basement");
    await page.press("#question", "Enter");
    await page.waitForSelector("#answer .document");
    assert.equal(await page.locator("#answer .document").count(), 10);
    assert.match(await page.textContent("#answer .document .text"), /flood/);
    await page.screenshot({ path: join(pictures, "question.png") });
    assert.match(page.url(), /q=flood/);
    await page.locator("#answer .link", { hasText: "Compare" }).first().click();
    await page.waitForSelector("#answer h3:has-text('In common')");
    assert.match(page.url(), /document2=/);
    const both = await opened(new URL(page.url()).hash);
    await both.waitForSelector("#answer h3:has-text('In common')");
    await both.fill("#answer .compare input", "term life premium");
    await both.press("#answer .compare input", "Enter");
    await both.waitForSelector("#answer h2:has-text('term life premium')");
    await both.locator("#answer .link", { hasText: "Swap" }).click();
    await both.waitForFunction(() => document.querySelector("#question").value === "term life premium");
    assert.deepEqual(both.wrong, []);
    await both.context().close();
    await page.screenshot({ path: join(pictures, "query.png") });
    return page;
  },
  async "chances light the likely nodes and are told"() {
    const page = await opened("#q=flood%20damage%20in%20the%20basement", { reducedMotion: "reduce" });
    await page.waitForSelector("#answer .way .bar");
    const steps = await page.locator("#answer .way .bar").evaluateAll((bars) => bars.map((bar) => [bar.firstElementChild.textContent, bar.querySelector("output").textContent]));
    assert.ok(steps.length >= 1 && steps.every(([label, chance]) => label && /^[<>]?\d+%$/.test(chance)), JSON.stringify(steps));
    assert.match(await page.textContent("#answer .way"), /calibrated on pairs/);
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    const [left, top, width, height] = await page.evaluate(() => { const box = document.getElementById("tree").getBoundingClientRect(); return [box.left, box.top, box.width, box.height]; });
    const at = (level, share) => [left + 30 + (width - 60) * share, top + 30 + ((height - 66) * level) / 3];
    // Around the likely node 2 and the unlikely node 1: how far colours are from the paper.
    const ink = ([x, y]) => page.evaluate(([px, py]) => {
      const canvas = document.getElementById("tree"), box = canvas.getBoundingClientRect(), ratio = canvas.width / box.width;
      const { data } = canvas.getContext("2d").getImageData((px - box.left - 6) * ratio, (py - box.top - 4) * ratio, 12 * ratio, 8 * ratio);
      let sum = 0;
      for (let pixel = 0; pixel < data.length; pixel += 4) sum += 765 - data[pixel] - data[pixel + 1] - data[pixel + 2];
      return sum / (data.length / 4);
    }, [x, y]);
    const likely = await ink(at(1, 0.75)), unlikely = await ink(at(1, 0.25));
    assert.ok(likely > 4 * unlikely, `${likely} and ${unlikely}`);
    await page.mouse.move(...at(1, 0.75));
    await page.waitForSelector("#tip:not([hidden])");
    assert.match(await page.textContent("#tip"), /% chance that the answer lies below/);
    return page;
  },
  async "each hit is explained by parts that add up"() {
    const page = await opened("#q=flood%20damage%20in%20the%20basement");
    await page.waitForSelector("#answer .why");
    const hit = page.locator("#answer .document").first();
    assert.match(await hit.locator(".place").textContent(), /^Place: .+, where the answer is with a chance of .+%; on the question’s way/);
    assert.match(await hit.locator(".common").textContent(), /In common at level 3: [<>]?\d+%/);
    const shown = await hit.locator(".account").evaluate((account) => [...account.querySelectorAll("output")].map((output) => Number(output.textContent.replace("−", "-").replace(/[+= ]/g, ""))));
    const sum = shown.slice(0, -1).reduce((all, part) => all + part, 0);
    assert.ok(shown.length >= 3 && Math.abs(sum - shown.at(-1)) < 0.001 * shown.length, JSON.stringify(shown));
    assert.equal(await hit.locator(".account .sum output").textContent(), `= ${await hit.locator(".score").textContent()}`);
    const wide = await hit.locator(".stack i").evaluateAll((parts) => parts.reduce((all, part) => all + Number.parseFloat(part.style.width), 0));
    assert.ok(wide > 0 && wide <= 100.01, `${wide} %`);
    const second = page.locator("#answer .document").nth(1);
    assert.ok(await second.locator(".account").isHidden());
    await second.locator("details summary").click();
    assert.ok(await second.locator(".account").isVisible());
    await page.selectOption("#answer .read select", "0.9");
    await page.waitForFunction(() => /of the documents were read; the answer is among them/.test(document.querySelector("#answer").textContent));
    assert.match(page.url(), /cover=0.9/);
    return page;
  },
  async "nodes that say nothing new are folded, and shown when asked for"() {
    const page = await opened("#node=13");
    const crumbs = () => page.locator("#crumbs button").count();
    assert.equal(await crumbs(), 3);
    await page.focus("#tree");
    await page.keyboard.press("ArrowUp");
    await page.waitForFunction(() => location.hash.includes("node=2"));
    await page.goBack();
    await page.check("#unfold");
    assert.equal(await crumbs(), 4);
    assert.match(page.url(), /all=1/);
    await page.keyboard.press("Tab");
    await page.focus("#tree");
    await page.keyboard.press("ArrowUp");
    await page.waitForFunction(() => location.hash.includes("node=6"));
    const again = await opened("#node=13&all=1");
    assert.equal(await again.locator("#crumbs button").count(), 4);
    assert.ok(await again.isChecked("#unfold"));
    await again.context().close();
    return page;
  },
  async "documents turn page by page"() {
    const page = await opened("#node=0");
    await page.waitForSelector(".pages");
    const first = await page.textContent("#documents .document header b");
    await page.click(".pages button:has-text('Next')");
    await page.waitForFunction((before) => document.querySelector("#documents .document header b").textContent !== before, first);
    assert.match(await page.textContent(".pages"), /2 of 10/);
    return page;
  },
  async "keys walk the tree"() {
    const page = await opened();
    await page.focus("#tree");
    for (const key of ["ArrowDown", "ArrowRight", "ArrowDown", "+", "-", "0"]) await page.keyboard.press(key);
    await page.waitForFunction(() => location.hash.includes("node=5"));
    await page.keyboard.press("ArrowUp");
    await page.waitForFunction(() => location.hash.includes("node=2"));
    assert.match(await page.textContent("#spoken"), /Node 2, level 1/);
    return page;
  },
  async "colours, levels and the dark"() {
    const page = await opened("", { colorScheme: "dark" });
    assert.equal(await page.getAttribute("html", "data-theme"), "dark");
    await page.selectOption("#colour", { label: "kind" });
    assert.match(await page.textContent("#legend"), /auto/);
    for (const label of ["Purity of kind", "Query mass"]) await page.selectOption("#colour", { label });
    assert.match(page.url(), /colour=queries/);
    await page.selectOption("#colour", { label: "Asked minus held" });
    await page.focus("#level");
    await page.keyboard.press("ArrowLeft");
    assert.match(await page.textContent("#level-shown"), /2 of 3/);
    await page.screenshot({ path: join(pictures, "dark.png") });
    await page.click("#theme");
    assert.equal(await page.getAttribute("html", "data-theme"), "light");
    return page;
  },
  async "a script in a document stays text"() {
    const page = await opened("#node=10");
    await page.waitForSelector(".document");
    assert.match(await page.textContent("#node"), /<script>document\.title='taken'<\/script>/);
    const markup = () => page.locator("img, body script:not([src])").count();
    assert.equal(await markup(), 0);
    assert.match(await heading(page), /^Named <script>/);
    for (const fragment of ["#node=4", "#node=21"]) { await page.goto(`${address}/${fragment}`); await page.waitForSelector("#node h2"); assert.equal(await markup(), 0, fragment); }
    const odd = await page.locator("#colour option").evaluateAll((options) => options.findIndex((option) => option.textContent.startsWith("zz<script>")));
    await page.selectOption("#colour", { index: odd });
    assert.match(await page.textContent("#legend"), /<script>/);
    await page.fill("#words", "named <script");
    assert.ok((await page.locator("#found .option").count()) >= 1);
    await page.fill("#question", "auto liability claim driver <img src=x onerror=alert(1)>");
    await page.press("#question", "Enter");
    await page.waitForSelector("#answer .document");
    await page.click("#tab-levels");
    assert.equal(await markup(), 0);
    assert.notEqual(await page.title(), "taken");
    return page;
  },
  async "pictures, drawings and whole pages are exported"() {
    const page = await opened("#node=4");
    for (const [button, name, start] of [["#png", "tree.png", "\u0089PNG"], ["#svg", "tree.svg", "<svg"], ["#html", "tree.html", "<!doctype html>"]]) {
      await page.click("#export summary");
      const [download] = await Promise.all([page.waitForEvent("download"), page.click(button)]);
      assert.equal(download.suggestedFilename(), name);
      const path = join(pictures, name);
      await download.saveAs(path);
      assert.ok((await readFile(path, "latin1")).startsWith(start), name);
    }
    const drawing = await readFile(join(pictures, "tree.svg"), "utf8");
    const inside = await page.evaluate((text) => {
      const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
      return [parsed.querySelectorAll("parsererror, script, img, foreignObject").length, parsed.querySelectorAll("circle").length];
    }, drawing);
    // All nodes but those that say nothing new: 3, 6 and 11.
    assert.deepEqual(inside, [0, 12]);
    const alone = await page.context().newPage();
    const wrong = [];
    alone.on("pageerror", (error) => wrong.push(String(error)));
    await alone.goto(`${pathToFileURL(join(pictures, "tree.html"))}#node=11`);
    await alone.waitForSelector("#node h2");
    assert.match((await alone.textContent("#node h2")).toLowerCase(), /flood|basement/);
    assert.equal(await alone.locator("#node .path li").count(), 4);
    await alone.goto(`${pathToFileURL(join(pictures, "tree.html"))}#node=13`);
    await alone.waitForFunction(() => document.querySelectorAll("#node .path li").length === 3);
    await alone.check("#unfold");
    await alone.waitForFunction(() => document.querySelectorAll("#crumbs button").length === 4);
    await alone.goto(`${pathToFileURL(join(pictures, "tree.html"))}#node=10`);
    await alone.waitForFunction(() => document.querySelector("#node h2").textContent.startsWith("Named <script>"));
    assert.equal(await alone.locator("img").count(), 0);
    assert.notEqual(await alone.title(), "taken");
    assert.deepEqual(wrong, []);
    return page;
  },
  async "a phone shows all of it"() {
    const page = await opened("#node=3", { viewport: { width: 390, height: 844 } });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 390, `${wide} pixels wide`);
    await page.screenshot({ path: join(pictures, "phone.png") });
    await page.goto(`${address}/#q=flood`);
    await page.waitForSelector("#answer .why");
    const panel = await page.evaluate(() => document.getElementById("side").scrollWidth);
    assert.ok(panel <= 390, `a panel ${panel} pixels wide`);
    return page;
  },
};

let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  try {
    const page = await check();
    assert.deepEqual(page.wrong, [], "errors on the page");
    await page.context().close();
    console.log(`ok      ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}\n${error.stack}`);
  }
}
await browser.close();
process.exit(failed ? 1 : 0);
