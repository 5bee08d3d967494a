// What a node's colour says. Every scheme gives a number from 0 to 1, a signed one, or a class.

import { levelOf } from "./view.js";

const classes = ["#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#ff8ab7", "#a463f2", "#97bbf5", "#9c6b4e", "#9498a0", "#c9a227", "#2f9e9e"];

export const styleOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
export function palette() {
  const names = ["paper", "ink", "soft", "faint", "line", "edge", "accent", "query", "second", "low", "high", "less", "more", "even"];
  return Object.fromEntries(names.map((name) => [name, styleOf(`--${name}`)]));
}

export function schemes(tree) {
  const list = [{ key: "size", name: "Size" }];
  tree.fields.forEach((field, at) => {
    list.push({ key: `field ${at}`, name: field.name, field: at });
    list.push({ key: `purity ${at}`, name: `Purity of ${field.name}`, purity: at });
  });
  if (tree.has_queries) list.push({ key: "queries", name: "Query mass" }, { key: "gap", name: "Asked minus held" });
  return list;
}

function mixed(from, to, t) {
  const part = (hex, at) => parseInt(hex.slice(1 + 2 * at, 3 + 2 * at), 16);
  const both = [0, 1, 2].map((at) => Math.round(part(from, at) + (part(to, at) - part(from, at)) * t));
  return `rgb(${both.join(",")})`;
}
const ramp = (from, to) => {
  const steps = Array.from({ length: 33 }, (_, t) => mixed(from, to, t / 32));
  return (t) => steps[Math.round(32 * Math.min(1, Math.max(0, t)))];
};
// The largest value of each level: deep nodes are small, but some are larger than their like.
function tops(depth, value) {
  return Array.from({ length: depth + 1 }, (_, level) => {
    let most = 1e-9;
    for (let id = 2 ** level - 1; id < 2 ** (level + 1) - 1; id++) most = Math.max(most, value(id));
    return most;
  });
}

function uncached(tree, scheme, reach, other, ink) {
  const plain = ramp(ink.low, ink.high), width = (id) => 2 ** levelOf(id);
  const signed = (value, over, under) => {
    const most = tops(tree.depth, (id) => Math.abs(value(id))), [up, down] = [ramp(ink.even, over), ramp(ink.even, under)];
    return (id) => ((share) => (share > 0 ? up(share) : down(-share)))(value(id) / most[levelOf(id)]);
  };
  if (reach && other) {
    const [first, second] = [ramp(ink.even, ink.query), ramp(ink.even, ink.second)];
    return (id) => ((more) => (more > 0 ? first(Math.sqrt(more)) : second(Math.sqrt(-more))))(reach[id] - other[id]);
  }
  if (reach) {
    const heat = ramp(ink.even, ink.query);
    return (id) => heat(Math.sqrt(reach[id]));
  }
  if (scheme.field !== undefined) {
    return (id) => ((top) => (top ? mixed(ink.even, classes[top[0] % classes.length], 0.25 + 0.75 * top[1]) : ink.line))(tree.nodes[id].top[scheme.field]);
  }
  if (scheme.purity !== undefined) return (id) => ((top) => (top ? plain(top[1]) : ink.line))(tree.nodes[id].top[scheme.purity]);
  if (scheme.key === "queries") return (id) => plain((tree.nodes[id].queries * width(id)) / 2.5);
  if (scheme.key === "gap") return signed((id) => tree.nodes[id].queries - tree.nodes[id].mass, ink.less, ink.more);
  return (id) => (tree.nodes[id].documents ? plain(Math.log2(1 + (tree.nodes[id].documents / tree.documents) * width(id)) / 2.2) : ink.line);
}

// Answers the colour of a node; the chances of a question, when there is one, overrule the scheme.
export function painter(tree, scheme, reach, other) {
  const fresh = uncached(tree, scheme, reach, other, palette()), kept = new Array(tree.nodes.length);
  return (id) => (kept[id] ??= fresh(id));
}

export function legendOf(tree, scheme, reach, other) {
  const bar = (from, to) => `linear-gradient(90deg, ${styleOf(from)}, ${styleOf(to)})`;
  const ends = (left, from, to, right) => [[left, null], [null, bar(from, to), true], [right, null]];
  if (reach && other) return [["first query", styleOf("--query")], ["both alike", styleOf("--even")], ["second", styleOf("--second")]];
  if (reach) return [...ends("unlikely", "--even", "--query", "the answer lies below, most likely"), ["wide lines: likely", null]];
  if (scheme.field !== undefined) return tree.fields[scheme.field].values.slice(0, 12).map((value, at) => [value, classes[at % classes.length]]);
  if (scheme.key === "gap") return [["more asked than held", styleOf("--less")], ["more held than asked", styleOf("--more")]];
  if (scheme.purity !== undefined) return ends("mixed", "--low", "--high", "pure");
  if (scheme.key === "queries") return ends("few questions", "--low", "--high", "many");
  return [...ends("smaller than its level’s mean", "--low", "--high", "larger"), ["wide lines: many documents", null]];
}
