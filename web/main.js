// The explorer: state, the address, and which part hears of what.

import { offline, wholePage, wholeTree } from "./api.js";
import { $, grouped, make, save, say } from "./elements.js";
import { legendOf, schemes } from "./colour.js";
import { Drawing, levelOf, pathTo } from "./drawing.js";
import { showNode, showTree } from "./panel.js";
import { Finder } from "./finder.js";
import { showQuery } from "./flow.js";

const state = { node: 0, item: null, other: null };

function fragment() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  return { node: Number.parseInt(wanted.get("node") ?? "0", 10) || 0, q: wanted.get("q"), document: wanted.get("document"), level: Number.parseInt(wanted.get("level") ?? "", 10) };
}

function tab(name) {
  for (const each of ["node", "answer", "levels"]) {
    $(each).hidden = each !== name;
    $(`tab-${each}`).setAttribute("aria-selected", String(each === name));
    $(`tab-${each}`).tabIndex = each === name ? 0 : -1;
  }
}

function theme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}

async function start() {
  const kept = (() => { try { return localStorage.getItem("theme"); } catch { return null; } })();
  theme(kept ? kept === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  const tree = await wholeTree();
  const list = schemes(tree);
  $("name").textContent = tree.name;
  document.title = `${tree.name}: the tree`;
  showTree(tree);

  const drawing = new Drawing($("tree"), tree, { ready: () => read(), choose: (id) => choose(id), hover });
  const acts = { current: () => state.node, choose, ask: tree.can_route ? (text) => { $("question").value = text; ask({ q: text }); } : null, follow: offline ? null : (id) => ask({ document: id }) };

  function write() {
    const wanted = new URLSearchParams({ node: state.node });
    if (state.item) for (const [name, value] of Object.entries(state.item)) wanted.set(name, value);
    if (drawing.level !== tree.depth) wanted.set("level", drawing.level);
    const hash = `#${wanted}`;
    if (hash !== location.hash) history.pushState(null, "", hash);
  }

  function crumbs() {
    const parts = pathTo(state.node).flatMap((id, at) => [at ? make("span", { "aria-hidden": "true" }, "›") : null,
      make("button", { type: "button", title: tree.nodes[id].label, "aria-current": id === state.node ? "true" : null, on: { click: () => choose(id, true) } }, tree.nodes[id].label)]);
    $("crumbs").replaceChildren(...parts.filter(Boolean));
    $("crumbs").scrollTop = $("crumbs").scrollHeight;
  }

  function choose(id, closer = false, silent = false) {
    state.node = Math.min(Math.max(0, id), tree.nodes.length - 1);
    drawing.selected = state.node;
    if (levelOf(state.node) > drawing.level) level(levelOf(state.node));
    drawing.show(state.node, closer);
    crumbs();
    if (!silent) { tab("node"); write(); }
    say(`Node ${state.node}, level ${levelOf(state.node)}: ${tree.nodes[state.node].label}, ${grouped(tree.nodes[state.node].documents)} documents`);
    showNode(state.node, acts).catch((error) => $("node").replaceChildren(make("p", { className: "error", role: "alert" }, error.message)));
  }

  function ask(item, other = null) {
    Object.assign(state, { item, other });
    tab("answer");
    write();
    showQuery(tree, item, { level: drawing.level, other }, {
      choose: (id) => choose(id, true),
      compare: (second) => ask(item, second),
      clear: () => { Object.assign(state, { item: null, other: null }); drawing.reach = null; $("question").value = ""; $("answer").replaceChildren(idle()); legend(); drawing.draw(); write(); tab("node"); },
      flowing: (route, path) => { drawing.reach = route.reach; choose(path[path.length - 1], false, true); drawing.fit(); legend(); say(`The query mostly reaches ${tree.nodes[route.leaf].label}`); write(); },
    });
  }

  const idle = () => make("p", { className: "soft" }, tree.can_route ? "Ask something above, or follow a document, to watch its probability flow through the tree." : offline ? "This file carries the tree alone. Serve the index with `retreever explore` to ask questions." : "This index was opened without an encoder. Follow a document of a node to watch it flow through the tree.");

  function legend() {
    $("legend").replaceChildren(...legendOf(tree, drawing.scheme, drawing.reach).map(([text, colour, ramp]) => {
      const swatch = colour ? make("i", { className: ramp ? "ramp" : "" }) : null;
      if (swatch) swatch.style.background = colour;
      return make("span", {}, swatch, text);
    }));
  }

  function level(value) {
    drawing.level = Math.min(Math.max(1, value), tree.depth);
    $("level").value = drawing.level;
    $("level-shown").value = `${drawing.level} of ${tree.depth}`;
    drawing.draw();
  }

  function hover(id, at) {
    $("tip").hidden = id === null;
    if (id === null) return;
    const node = tree.nodes[id];
    $("tip").replaceChildren(make("b", {}, node.label), make("small", {}, `${grouped(node.documents)} documents, level ${levelOf(id)}${drawing.reach ? `, ${(100 * drawing.reach[id]).toFixed(1)} % of the query` : ""}`), make("small", {}, node.keywords.join(" · ")));
    $("tip").style.left = `${Math.min(at[0] + 14, drawing.width - 260)}px`;
    $("tip").style.top = `${at[1] + $("tree").offsetTop + 16}px`;
  }

  function read() {
    const wanted = fragment();
    level(wanted.level || tree.depth);
    choose(wanted.node, levelOf(Math.max(0, wanted.node)) > 5, true);
    const item = wanted.q ? { q: wanted.q } : wanted.document ? { document: wanted.document } : null;
    if (item && JSON.stringify(item) !== JSON.stringify(state.item)) { $("question").value = wanted.q ?? ""; ask(item); }
  }

  $("answer").replaceChildren(idle());
  $("ask").hidden = !tree.can_route;
  $("ask").addEventListener("submit", (event) => { event.preventDefault(); const text = $("question").value.trim(); if (text) ask({ q: text }); });
  for (const name of ["node", "answer", "levels"]) $(`tab-${name}`).addEventListener("click", () => tab(name));
  $("tabs").addEventListener("keydown", (event) => {
    const names = ["node", "answer", "levels"], at = names.findIndex((name) => !$(name).hidden);
    const to = { ArrowLeft: at + 2, ArrowRight: at + 1 }[event.key];
    if (to !== undefined) { tab(names[to % 3]); $(`tab-${names[to % 3]}`).focus(); }
  });
  $("colour").replaceChildren(...list.map((scheme) => make("option", { value: scheme.key }, scheme.name)));
  $("colour").addEventListener("change", () => { drawing.scheme = list.find((scheme) => scheme.key === $("colour").value); drawing.reach = null; legend(); drawing.draw(); });
  $("level").max = tree.depth;
  $("level").addEventListener("input", () => { level(Number($("level").value)); if (levelOf(state.node) > drawing.level) choose(pathTo(state.node)[drawing.level]); else write(); });
  $("level").addEventListener("change", () => { if (state.item) ask(state.item, state.other); });
  $("in").addEventListener("click", () => drawing.zoom(1.6));
  $("out").addEventListener("click", () => drawing.zoom(1 / 1.6));
  $("fit").addEventListener("click", () => drawing.fit());
  $("theme").addEventListener("click", () => {
    const dark = document.documentElement.dataset.theme !== "dark";
    theme(dark);
    try { localStorage.setItem("theme", dark ? "dark" : "light"); } catch { /* a file may not keep anything */ }
    legend();
    drawing.draw();
  });
  $("png").addEventListener("click", () => $("tree").toBlob((picture) => save("tree.png", picture)));
  $("svg").addEventListener("click", () => save("tree.svg", new Blob([drawing.svg()], { type: "image/svg+xml" })));
  $("html").addEventListener("click", async () => save("tree.html", new Blob([await wholePage()], { type: "text/html" })));
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(input|select|textarea)$/i.test(event.target.tagName)) { event.preventDefault(); $("words").focus(); }
  });
  new Finder(tree, { choose: (id) => { choose(id, true); $("tree").focus(); }, matched: (ids) => { drawing.matches = ids; drawing.draw(); } });
  addEventListener("hashchange", read);
  addEventListener("popstate", read);
  legend();
  document.body.dataset.ready = "true";
}

start().catch((error) => document.body.append(make("p", { className: "error", role: "alert" }, error.message)));
