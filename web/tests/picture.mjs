// The picture of the explorer in docs/. Serve an index and take it:
//   retreever explore --index insuranceqa/ --port 7878
//   node web/tests/picture.mjs http://127.0.0.1:7878 MODULES CHROMIUM docs/explorer.png "node=0"
// MODULES is a folder in which `npm install playwright-core` was run.

import { createRequire } from "node:module";
import { join } from "node:path";

const [address, modules, executablePath, path, fragment = ""] = process.argv.slice(2);
const { chromium } = createRequire(join(modules, "package.json"))("playwright-core");
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: 1200, height: 720 }, reducedMotion: "reduce" });
await page.goto(`${address}/#${fragment}`);
await page.waitForSelector("body[data-ready]");
await page.waitForSelector("#node h2", { state: "attached" });
await page.waitForLoadState("networkidle");
await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
await page.screenshot({ path });
await browser.close();
