// The lines between nodes: as wide as the branch is large, or as the chance that the answer lies there.

import { unlikely } from "./chance.js";
import { levelOf } from "./view.js";

function curve(g, from, to, shift = 0) {
  const middle = (from[1] + to[1]) / 2;
  g.moveTo(from[0] + shift, from[1]);
  g.bezierCurveTo(from[0] + shift, middle, to[0] + shift, middle, to[0] + shift, to[1]);
}

// The beginning of a line: a branch that ends out of sight.
function stub(g, from, to) {
  const middle = (from[1] + to[1]) / 2, mixed = (a, b, c, d, t) => a * (1 - t) ** 3 + 3 * b * t * (1 - t) ** 2 + 3 * c * t ** 2 * (1 - t) + d * t ** 3;
  g.moveTo(...from);
  for (let t = 0.05; t <= 0.4; t += 0.05) g.lineTo(mixed(from[0], from[0], to[0], to[0], t), mixed(from[1], middle, middle, to[1], t));
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
    const cut = folding.ends(id) && gap > 12;
    if (!folding.shown(id) && !cut) continue;
    const ends = [view.place(folding.above(id)), view.place(id), cut ? stub : curve];
    // A line between two nodes that are out of sight says nothing.
    if (!ends.slice(0, 2).some(([x]) => x > -60 && x < view.width + 60)) continue;
    const wide = drawing.reach ? 0.7 : Math.round(2 * branchWidth(drawing, view, id)) / 2;
    if (!widths.has(wide)) widths.set(wide, []);
    widths.get(wide).push(ends);
  }
  g.strokeStyle = ink.edge;
  g.globalAlpha = (drawing.reach ? 0.28 : 1) * Math.min(1, 0.3 + gap / 14);
  for (const [wide, lines] of widths) {
    g.lineWidth = wide;
    g.beginPath();
    for (const [from, to, draw] of lines) draw(g, from, to);
    g.stroke();
  }
  g.globalAlpha = 1;
}

// Where the answer to a question is, as far as it has run down the tree; of two questions, each on its side.
export function drawFlow(g, drawing, reach, colour, side) {
  const { view, folding } = drawing;
  g.strokeStyle = colour;
  g.lineCap = "round";
  for (let level = 1; level <= Math.min(view.level, drawing.front); level++) {
    const [from, to] = view.seen(level), start = 2 ** level - 1;
    for (let id = start + from; id <= start + to; id++) {
      if (reach[id] < unlikely || !folding.shown(id)) continue;
      const wide = flowWidth(reach[id]) * (side ? 0.6 : 1);
      g.lineWidth = wide;
      g.globalAlpha = 0.35 + 0.5 * Math.sqrt(reach[id]);
      g.beginPath();
      curve(g, view.place(folding.above(id)), view.place(id), (side * wide) / 2);
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
