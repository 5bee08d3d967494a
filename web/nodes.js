// The nodes of the drawing: dots, or bars where there is no room, and rings around those that were chosen or found.

import { light } from "./chance.js";
import { levelOf } from "./view.js";

// Nodes nearer to each other than this share a column of pixels.
const crowded = 2.2;

const radiusOf = (view, level) => Math.max(1.2, Math.min(level === 0 ? 11 : 10 - level * 0.35, view.gap(level) * 0.34, view.row * 0.2));
const chanceAt = (drawing, id) => Math.max(drawing.reach[id], drawing.other?.[id] ?? 0);

// The radius of a node: its area grows with its documents beside the mean of its level, or with its chance.
export function sizeOf(drawing, id) {
  const base = radiusOf(drawing.view, levelOf(id));
  if (base < 3) return base;
  if (drawing.reach) return base * (0.45 + 0.75 * Math.sqrt(chanceAt(drawing, id)));
  return base * Math.min(1.45, Math.max(0.4, Math.sqrt(drawing.tree.nodes[id].documents / drawing.mean[id])));
}

export function drawNodes(g, drawing, level, tint) {
  const { view, folding } = drawing, [from, to] = view.seen(level), start = 2 ** level - 1, y = view.down(level);
  const seen = (id) => (drawing.reach ? light(chanceAt(drawing, id)) : 1);
  if (view.gap(level) < crowded) return drawBand(g, drawing, level, [from, to], tint, seen);
  const base = radiusOf(view, level);
  for (let id = start + from; id <= start + to; id++) {
    if (!folding.shown(id)) continue;
    g.fillStyle = tint(id);
    g.globalAlpha = seen(id);
    if (base < 1.7) { g.fillRect(view.place(id)[0] - base, y - 4, 2 * base, 8); continue; }
    g.beginPath();
    g.arc(view.place(id)[0], y, sizeOf(drawing, id), 0, 7);
    g.fill();
  }
  g.globalAlpha = 1;
}

// One column of pixels for many nodes: the one that weighs most is seen.
function drawBand(g, drawing, level, [from, to], tint, seen) {
  const { view, folding } = drawing, start = 2 ** level - 1, y = view.down(level);
  const weight = (id) => (drawing.reach ? chanceAt(drawing, id) : drawing.tree.nodes[id].documents);
  let column = null, best = null;
  const put = () => { g.fillStyle = tint(best); g.globalAlpha = seen(best); g.fillRect(column * crowded, y - 4.5, crowded + 0.3, 9); };
  for (let id = start + from; id <= start + to; id++) {
    if (!folding.shown(id)) continue;
    const here = Math.floor(view.place(id)[0] / crowded);
    if (here !== column) { if (column !== null) put(); column = here; best = id; }
    else if (weight(id) > weight(best)) best = id;
  }
  if (column !== null) put();
  g.globalAlpha = 1;
}

export function drawMarks(g, drawing, path, ink, tint) {
  const { view } = drawing;
  const ring = (id, colour, wide) => {
    const [x, y] = path.get(id) ?? view.place(id);
    if (levelOf(id) > view.level || x < -20 || x > view.width + 20) return;
    g.beginPath();
    g.arc(x, y, Math.max(path.has(id) ? 4.5 : 3.4, sizeOf(drawing, id)), 0, 7);
    g.fillStyle = tint(id);
    g.fill();
    g.lineWidth = wide;
    g.strokeStyle = colour;
    g.stroke();
  };
  for (const id of drawing.matches) ring(id, ink.query, 2);
  for (const id of path.keys()) ring(id, ink.accent, id === drawing.selected ? 3.4 : 2);
  if (drawing.hovered !== null) ring(drawing.hovered, ink.ink, 2);
}
