// Labels of nodes: the path first, then what was found, then likely nodes, then large ones. A label is drawn where no other
// one is.

import { percentage, unlikely } from "./chance.js";
import { sizeOf } from "./nodes.js";
import { levelOf } from "./view.js";

// Nodes at least this likely are named while a question is asked; in a closer view less likely ones, too.
const namedFrom = 0.05;

export function drawLabels(g, drawing, path, ink) {
  const v = drawing.view, { reach, folding } = drawing, { nodes } = drawing.tree, taken = [], roomy = v.row > 46;
  g.textAlign = "left";
  g.lineJoin = "round";
  const line = (text, left, y, colour) => {
    g.lineWidth = 4;
    g.strokeStyle = ink.paper;
    g.strokeText(text, left, y);
    g.fillStyle = colour;
    g.fillText(text, left, y);
  };
  const write = (id, look, room) => {
    const [x, y] = path.get(id) ?? v.place(id), level = levelOf(id), strong = look !== "soft";
    if (level > v.level || x < -40 || x > v.width + 40) return;
    const font = `${strong ? 650 : 450} ${strong ? 12.5 : 11.5}px system-ui, sans-serif`, small = "450 10.5px system-ui, sans-serif";
    const likely = reach && !drawing.other && id > 0 && reach[id] >= unlikely ? ` · ${percentage(reach[id])}` : "";
    const text = drawing.clipped(g, font, nodes[id].label, likely ? room - 36 : room) + likely;
    const words = look === "path" && roomy && id > 0 && !reach ? drawing.clipped(g, small, nodes[id].keywords.slice(0, 4).join(" · "), Math.max(room, 210)) : "";
    g.font = small;
    const under = words ? g.measureText(words).width : 0;
    g.font = font;
    const wide = Math.max(g.measureText(text).width, under), size = Math.max(4.5, sizeOf(drawing, id));
    // The root's label stands beside it, where no line is.
    const beside = x + size + 15 + wide < v.width ? x + size + 9 : x - size - 9 - wide;
    const down = id > 0 ? size + 13 : 1, left = Math.min(Math.max(id > 0 ? x - wide / 2 : beside, 16), v.width - wide - 6);
    const box = [left - 5, y + down - 11, left + wide + 5, y + down + (words ? 17 : 4)];
    if (taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) return;
    taken.push(box);
    if (look === "path" || likely) {
      g.fillStyle = ink.paper;
      g.globalAlpha = 0.82;
      g.fillRect(box[0] + 2, box[1], box[2] - box[0] - 4, box[3] - box[1]);
      g.globalAlpha = 1;
    }
    line(text, left + (wide - g.measureText(text).width) / 2, y + down, strong ? ink.ink : ink.soft);
    g.font = small;
    if (words) line(words, left + (wide - under) / 2, y + down + 13, ink.soft);
  };
  const own = v.row > 34 ? [...path.keys()] : [drawing.selected];
  for (const id of own) write(id, "path", 250);
  if (drawing.hovered !== null) write(drawing.hovered, "strong", 250);
  [...drawing.matches].slice(0, 40).forEach((id) => write(id, "strong", 200));
  if (reach) {
    const chance = (id) => Math.max(reach[id], drawing.other?.[id] ?? 0), likely = [];
    for (let id = 1; id < reach.length; id++) if (chance(id) >= Math.max(unlikely, namedFrom / v.scale) && folding.shown(id)) likely.push(id);
    likely.sort((a, b) => chance(b) - chance(a)).slice(0, 60).forEach((id) => write(id, "soft", 190));
    return;
  }
  for (let level = 1; level <= v.level && v.gap(level) > 46 && v.row > 26; level++) {
    const [from, to] = v.seen(level), start = 2 ** level - 1;
    for (let id = start + from; id <= start + to; id++) if (folding.shown(id)) write(id, "soft", Math.min(220, Math.max(90, v.gap(level) - 10)));
  }
}
