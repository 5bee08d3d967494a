// The whole tree as a drawing in SVG, whatever is in sight.

import { palette } from "./colour.js";
import { branchWidth, flowWidth } from "./edges.js";
import { light, unlikely } from "./chance.js";
import { View, levelOf } from "./view.js";

const escaped = (text) => text.replace(/[&<>"']/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[c]).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");

export function picture(drawing) {
  const view = Object.assign(new View(drawing.tree.depth), { width: Math.max(1400, drawing.view.width), height: 900, foot: 40, level: drawing.view.level });
  const { folding, reach } = drawing, ink = palette(), nodes = drawing.tree.nodes, last = 2 ** (view.level + 1) - 1;
  const path = new Set(folding.path(drawing.selected)), ids = Array.from({ length: last }, (_, id) => id).filter((id) => folding.shown(id) || id === drawing.selected);
  const f = (n) => n.toFixed(1);
  const lines = [`<svg xmlns="http://www.w3.org/2000/svg" width="${view.width}" height="${view.height}" viewBox="0 0 ${view.width} ${view.height}" font-family="system-ui, sans-serif" font-size="11"><title>${escaped(drawing.tree.name)}</title><rect width="100%" height="100%" fill="${ink.paper}"/>`];
  const edge = (id, colour, wide, alpha = 1) => {
    const [x, y] = view.place(id), [px, py] = view.place(folding.above(id)), middle = (y + py) / 2;
    lines.push(`<path d="M${f(px)} ${f(py)}C${f(px)} ${f(middle)} ${f(x)} ${f(middle)} ${f(x)} ${f(y)}" fill="none" stroke="${colour}" stroke-width="${wide.toFixed(2)}" opacity="${alpha.toFixed(2)}"/>`);
  };
  for (const id of ids.slice(1)) edge(id, ink.edge, reach ? 0.5 : branchWidth(drawing, view, id), reach ? 0.3 : 1);
  if (reach) for (const id of ids.slice(1)) if (reach[id] >= unlikely) edge(id, ink.query, flowWidth(reach[id]), 0.6);
  for (const id of path) if (id > 0 && levelOf(id) <= view.level) edge(id, ink.accent, 2.4);
  const labels = [];
  for (const id of ids) {
    const [x, y] = view.place(id), level = levelOf(id), gap = view.gap(level);
    const radius = Math.max(0.5, Math.min(level === 0 ? 10 : 9 - level * 0.35, gap * 0.36, view.row * 0.2));
    lines.push(`<circle cx="${f(x)}" cy="${f(y)}" r="${f(radius)}" fill="${drawing.colour(id)}"${reach ? ` opacity="${light(reach[id]).toFixed(2)}"` : ""}${path.has(id) ? ` stroke="${ink.accent}" stroke-width="2"` : ""}><title>${escaped(nodes[id].label)} (${nodes[id].documents})</title></circle>`);
    if (!path.has(id) && gap < 90) continue;
    const most = path.has(id) ? 60 : Math.floor(gap / 6.2), text = nodes[id].label.length > most ? `${nodes[id].label.slice(0, most - 1)}…` : nodes[id].label;
    labels.push(`<text x="${f(x)}" y="${f(y + radius + 13)}" text-anchor="middle" fill="${ink.ink}" stroke="${ink.paper}" stroke-width="4" paint-order="stroke"${path.has(id) ? ' font-weight="650"' : ""}>${escaped(text)}</text>`);
  }
  return `${lines.concat(labels).join("\n")}</svg>\n`;
}
