// The explorer: state, the address, and which part hears of what.

import { offline, wholePage, wholeTree } from "./api.js";
import { $, grouped, make, save, say } from "./elements.js";
import { levelOf, pathTo } from "./view.js";
import { legendOf, schemes } from "./colour.js";
import { spokenChance } from "./chance.js";
import { Drawing } from "./drawing.js";
import { Folding } from "./folding.js";
import { listen } from "./gestures.js";
import { picture } from "./picture.js";
import { showNode, showTree, spokenNode } from "./panel.js";
import { Finder } from "./finder.js";
import { showQuery } from "./flow.js";

const state = { node: 0, item: null, other: null, cover: null };
const tabs = ["node", "answer", "levels"];
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

function fragment() {
  const wanted = new URLSearchParams(location.hash.slice(1)), number = (name) => Number.parseInt(wanted.get(name) ?? "", 10);
  const item = (q, document) => (wanted.get(q) ? { q: wanted.get(q) } : wanted.get(document) ? { document: wanted.get(document) } : null);
  return { node: number("node"), level: number("level"), colour: wanted.get("colour"), all: wanted.get("all") === "1", cover: Number.parseFloat(wanted.get("cover") ?? "") || null, item: item("q", "document"), other: item("q2", "document2") };
}

function tab(name) {
  for (const each of tabs) {
    $(each).hidden = each !== name;
    $(`tab-${each}`).setAttribute("aria-selected", String(each === name));
    $(`tab-${each}`).tabIndex = each === name ? 0 : -1;
  }
  $("side").scrollTop = 0;
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
  $("extent").textContent = `${grouped(tree.documents)} documents`;
  document.title = `${tree.name}: the tree`;

  const folding = new Folding(tree), drawing = new Drawing($("tree"), tree, folding, { ready: () => read(), choose: (id) => choose(id), hover });
  const acts = { current: () => state.node, folding, choose, ask: tree.can_route ? (text) => { $("question").value = text; ask({ q: text }); } : null, follow: offline ? null : (id) => ask({ document: id }) };
  showTree(tree, acts);
  listen(drawing);

  function write() {
    const wanted = new URLSearchParams({ node: state.node });
    for (const [item, tail] of [[state.item, ""], [state.other, "2"]]) if (item) for (const [name, value] of Object.entries(item)) wanted.set(name + tail, value);
    if (drawing.view.level !== tree.depth) wanted.set("level", drawing.view.level);
    if (drawing.scheme.key !== "size") wanted.set("colour", drawing.scheme.key);
    if (folding.all) wanted.set("all", "1");
    if (state.cover && state.item) wanted.set("cover", state.cover);
    const hash = `#${wanted}`;
    if (hash !== location.hash) history.pushState(null, "", hash);
  }

  function crumbs() {
    const parts = folding.path(state.node).flatMap((id, at) => [at ? make("span", { "aria-hidden": "true" }, "›") : null,
      make("button", { type: "button", title: tree.nodes[id].label, "aria-current": id === state.node ? "true" : null, on: { click: () => choose(id, true) } }, tree.nodes[id].label)]);
    $("crumbs").replaceChildren(...parts.filter(Boolean));
    $("crumbs").scrollTop = $("crumbs").scrollHeight;
  }

  function choose(id, closer = false, silent = false) {
    state.node = Math.min(Math.max(0, id), tree.nodes.length - 1);
    drawing.selected = state.node;
    folding.choose(state.node);
    if (levelOf(state.node) > drawing.view.level) level(levelOf(state.node));
    drawing.show(state.node, closer);
    crumbs();
    if (!silent) { tab("node"); write(); say(spokenNode(tree, state.node)); }
    showNode(state.node, acts).catch((error) => $("node").replaceChildren(make("p", { className: "error", role: "alert" }, error.message)));
  }

  function forget() {
    Object.assign(state, { item: null, other: null, cover: null });
    Object.assign(drawing, { reach: null, other: null });
    $("question").value = "";
    $("answer").replaceChildren(idle());
    legend();
    drawing.recolour();
  }

  function ask(item, other = null) {
    Object.assign(state, { item, other });
    tab("answer");
    write();
    showQuery(tree, item, { level: drawing.view.level, other, cover: state.cover }, {
      choose: (id) => choose(id, true),
      compare: (second) => ask(item, second),
      swap: () => { $("question").value = other.q ?? ""; ask(other, item); },
      cover: (chance) => { state.cover = chance; ask(item, other); },
      clear: () => { forget(); write(); tab("node"); },
      flowing: (route, second) => {
        if (!same(state.item, item) || !same(state.other, other)) return;
        drawing.run(route.reach, second?.reach ?? null);
        const end = route.way.steps.at(-1);
        choose(pathTo(end.node)[Math.min(levelOf(end.node), drawing.view.level)], false, true);
        drawing.fit();
        legend();
        say(`${spokenChance(end.chance, item, tree.calibrated)} ${tree.nodes[end.node].label}`);
        write();
      },
    });
  }

  const idle = () => make("p", { className: "soft" }, tree.can_route ? "Ask something above, or follow a document, to see where the answer is, most likely." : offline ? "This file carries the tree alone. Serve the index with `retreever explore` to ask questions." : "This index was opened without an encoder. Follow a document of a node to see where it belongs.");

  function legend() {
    $("legend").replaceChildren(...legendOf(tree, drawing.scheme, drawing.reach, drawing.other).map(([text, colour, wide]) => {
      const swatch = colour ? make("i", { className: wide ? "ramp" : "" }) : null;
      if (swatch) swatch.style.background = colour;
      return make("span", {}, swatch, text);
    }));
  }

  function level(value) {
    drawing.view.level = Math.min(Math.max(1, value), tree.depth);
    $("level").value = drawing.view.level;
    $("level-shown").value = `${drawing.view.level} of ${tree.depth}`;
    drawing.draw();
  }

  function unfold(all) {
    $("unfold").checked = all;
    if (all === folding.all) return;
    folding.open(all);
    crumbs();
    drawing.draw();
  }

  function colour(key) {
    drawing.scheme = list.find((scheme) => scheme.key === key) ?? list[0];
    $("colour").value = drawing.scheme.key;
    legend();
    drawing.recolour();
  }

  function hover(id, at) {
    $("tip").hidden = id === null;
    if (id === null) return;
    const node = tree.nodes[id], chances = [[drawing.reach, state.item, "first"], [drawing.other, state.other, "second"]].filter(([reach, item]) => reach && item && id > 0)
      .map(([reach, item, mark]) => make("span", { className: "chance" }, drawing.other ? make("i", { className: `dot ${mark}` }) : null, spokenChance(reach[id], item, tree.calibrated)));
    $("tip").replaceChildren(make("b", {}, node.label), ...chances, make("small", {}, `Level ${levelOf(id)}, ${grouped(node.documents)} documents`), make("small", {}, node.keywords.join(" · ")));
    const width = $("tip").offsetWidth, below = at[1] + 24 + $("tip").offsetHeight < drawing.view.height;
    $("tip").style.left = `${Math.max(8, Math.min(at[0] + 14, drawing.view.width - width - 8))}px`;
    $("tip").style.top = `${$("tree").offsetTop + (below ? at[1] + 20 : at[1] - $("tip").offsetHeight - 14)}px`;
  }

  function read() {
    const wanted = fragment();
    state.cover = wanted.item ? wanted.cover : null;
    unfold(wanted.all);
    level(wanted.level || tree.depth);
    colour(wanted.colour);
    const node = Number.isNaN(wanted.node) ? 0 : wanted.node;
    if (node !== state.node || !$("node").hasChildNodes()) choose(node, levelOf(Math.max(0, node)) > 5, true);
    if (!wanted.item) { if (state.item) { forget(); tab("node"); } return; }
    if (same(wanted.item, state.item) && same(wanted.other, state.other)) return;
    $("question").value = wanted.item.q ?? "";
    ask(wanted.item, wanted.other);
  }

  $("answer").replaceChildren(idle());
  $("ask").hidden = !tree.can_route;
  $("ask").addEventListener("submit", (event) => { event.preventDefault(); const text = $("question").value.trim(); if (text) ask({ q: text }); });
  for (const name of tabs) $(`tab-${name}`).addEventListener("click", () => tab(name));
  $("tabs").addEventListener("keydown", (event) => {
    const at = tabs.findIndex((name) => !$(name).hidden), to = { ArrowLeft: at + 2, ArrowRight: at + 1 }[event.key];
    if (to !== undefined) { tab(tabs[to % 3]); $(`tab-${tabs[to % 3]}`).focus(); }
  });
  $("colour").replaceChildren(...list.map((scheme) => make("option", { value: scheme.key }, scheme.name)));
  $("colour").addEventListener("change", () => { if (state.item) { forget(); tab("node"); } colour($("colour").value); write(); });
  $("level").max = tree.depth;
  $("level").addEventListener("input", () => { level(Number($("level").value)); if (levelOf(state.node) > drawing.view.level) choose(pathTo(state.node)[drawing.view.level]); else write(); });
  $("level").addEventListener("change", () => { if (state.item) ask(state.item, state.other); });
  $("unfolding").hidden = !folding.any;
  $("unfold").addEventListener("change", () => { unfold($("unfold").checked); write(); });
  $("in").addEventListener("click", () => drawing.travel(drawing.view.zoomed(1.8)));
  $("out").addEventListener("click", () => drawing.travel(drawing.view.zoomed(1 / 1.8)));
  $("fit").addEventListener("click", () => drawing.fit());
  $("theme").addEventListener("click", () => {
    const dark = document.documentElement.dataset.theme !== "dark";
    theme(dark);
    try { localStorage.setItem("theme", dark ? "dark" : "light"); } catch { /* a file may not keep anything */ }
    legend();
    drawing.recolour();
  });
  $("png").addEventListener("click", () => $("tree").toBlob((shot) => save("tree.png", shot)));
  $("svg").addEventListener("click", () => save("tree.svg", new Blob([picture(drawing)], { type: "image/svg+xml" })));
  $("html").addEventListener("click", async () => save("tree.html", new Blob([await wholePage()], { type: "text/html" })));
  document.addEventListener("click", (event) => { if (!$("export").contains(event.target) || event.target.closest("#export div")) $("export").open = false; });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") $("export").open = false;
    if (event.key === "/" && !/^(input|select|textarea)$/i.test(event.target.tagName)) { event.preventDefault(); $("words").focus(); }
  });
  new Finder(tree, { choose: (id) => { choose(id, true); $("tree").focus(); }, matched: (ids) => { drawing.matches = ids; drawing.draw(); } });
  addEventListener("hashchange", read);
  addEventListener("popstate", read);
  legend();
  document.body.dataset.ready = "true";
}

start().catch((error) => document.body.append(make("p", { className: "error", role: "alert" }, error.message)));
