// The lines between nodes: as wide as the branch is large, or as the chance that the answer lies there.

import { unlikely } from "./chance.js";
import { levelOf } from "./view.js";

function curve(g, from, to, shift = 0) {
  const middle = (from[1] + to[1]) / 2;
  g.moveTo(from[0] + shift, from[1]);
  g.bezierCurveTo(from[0] + shift, middle, to[0] + shift, middle, to[0] + shift, to[1]);
}

// How wide a line of a level is that leads to as many documents as the mean of its level.
const usual = (view, level) => Math.max(0.5, Math.min(6 - 0.5 * level, view.gap(level) / 7));

// The width of the line to a node: it grows with the node's documents.
export function branchWidth(drawing, view, id) {
  const level = levelOf(id), wide = usual(view, level), share = drawing.tree.nodes[id].documents / drawing.mean[id];
  return Math.min(Math.max(1, 2.6 * wide), Math.max(0.5, wide * share));
}
export const flowWidth = (chance) => Math.max(1, 18 * chance);

// All lines of one level. While a question is asked they nearly vanish.
export function drawEdges(g, drawing, level, ink) {
  const { view, folding } = drawing, [from, to] = view.seen(level), gap = view.gap(level), start = 2 ** level - 1;
  const step = gap >= 3 ? 1 : 2 ** Math.ceil(Math.log2(3 / gap)), widths = new Map();
  for (let rank = from - (from % step); rank <= to; rank += step) {
    // Where lines would cover each other, one stands for all.
    let id = start + rank;
    while (!folding.shown(id) && id + 1 < start + rank + step) id += 1;
    if (!folding.shown(id)) continue;
    const ends = [view.place(folding.above(id)), view.place(id)];
    // A line between two nodes that are out of sight says nothing.
    if (!ends.some(([x]) => x > -60 && x < view.width + 60)) continue;
    const wide = drawing.reach ? 0.7 : Math.round(2 * branchWidth(drawing, view, id)) / 2;
    if (!widths.has(wide)) widths.set(wide, []);
    widths.get(wide).push(ends);
  }
  g.strokeStyle = ink.edge;
  g.globalAlpha = (drawing.reach ? 0.28 : 1) * Math.min(1, 0.3 + gap / 14);
  for (const [wide, lines] of widths) {
    g.lineWidth = wide;
    g.beginPath();
    for (const ends of lines) curve(g, ...ends);
    g.stroke();
  }
  g.globalAlpha = 1;
}

// Where the answer to a question is, as far as it has run down the tree.
export function drawFlow(g, drawing, reach, colour, shift) {
  const { view, folding } = drawing;
  g.strokeStyle = colour;
  g.lineCap = "round";
  for (let level = 1; level <= Math.min(view.level, drawing.front); level++) {
    const [from, to] = view.seen(level), start = 2 ** level - 1;
    for (let id = start + from; id <= start + to; id++) {
      if (reach[id] < unlikely || !folding.shown(id)) continue;
      g.lineWidth = flowWidth(reach[id]);
      g.globalAlpha = 0.35 + 0.5 * Math.sqrt(reach[id]);
      g.beginPath();
      curve(g, view.place(folding.above(id)), view.place(id), shift);
      g.stroke();
    }
  }
  g.lineCap = "butt";
  g.globalAlpha = 1;
}

// The way from the root to the chosen node.
export function drawWay(g, path, ink) {
  g.strokeStyle = ink.accent;
  g.lineWidth = 2.2;
  g.beginPath();
  let before = null;
  for (const at of path.values()) {
    if (before) curve(g, before, at);
    before = at;
  }
  g.stroke();
}
