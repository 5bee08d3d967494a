// The tree on a canvas, by depth and rank: x is the middle of the leaves under a node, y its level.
// Coordinates of the tree run from 0 to 1 in both directions; a view maps them to pixels.

import { painter, styleOf } from "./colour.js";

export const levelOf = (id) => Math.floor(Math.log2(id + 1));
export const parentOf = (id) => (id - 1) >> 1;
export function pathTo(id) {
  const path = [id];
  while (path[0] > 0) path.unshift(parentOf(path[0]));
  return path;
}
const rankOf = (id) => id + 1 - 2 ** levelOf(id);

export class Drawing {
  constructor(canvas, tree, tell) {
    Object.assign(this, { canvas, tree, tell, selected: 0, hovered: null, reach: null, matches: new Set(), level: tree.depth, scheme: { key: "size" } });
    this.view = { scale: 1, x: 0, y: 0 };
    this.pointers = new Map();
    this.listen();
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  // Pixels
  resize() {
    const box = this.canvas.getBoundingClientRect();
    const first = !this.width;
    this.ratio = devicePixelRatio || 1;
    [this.width, this.height] = [box.width, box.height];
    this.canvas.width = Math.round(box.width * this.ratio);
    this.canvas.height = Math.round(box.height * this.ratio);
    if (first) this.tell.ready();
    this.draw();
  }
  margins() { return { x: 26, top: 34, bottom: 74 }; }
  place(id) {
    const level = levelOf(id), m = this.margins();
    const x = (rankOf(id) + 0.5) / 2 ** level;
    const y = level / this.tree.depth;
    return [m.x + (x * (this.width - 2 * m.x)) * this.view.scale + this.view.x,
      m.top + (y * (this.height - m.top - m.bottom)) * this.rise() + this.view.y];
  }
  // Depth grows slower than breadth when zooming: there are far fewer levels than leaves.
  rise() { return Math.min(this.view.scale, 1 + Math.log2(Math.max(1, this.view.scale)) * 0.35); }
  gap(level) { return ((this.width - 52) * this.view.scale) / 2 ** level; }
  row() { return ((this.height - 108) * this.rise()) / this.tree.depth; }
  radius(level) { return Math.max(1.1, Math.min(level === 0 ? 11 : 9 - level * 0.45, this.gap(level) * 0.36, this.row() * 0.24)); }

  draw() {
    if (this.pending || !this.width) return;
    this.pending = requestAnimationFrame(() => { this.pending = null; this.paint(this.canvas.getContext("2d")); });
  }

  paint(g) {
    g.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    g.fillStyle = styleOf("--paper");
    g.fillRect(0, 0, this.width, this.height);
    const colour = painter(this.tree, this.scheme, this.reach);
    const path = new Set(pathTo(this.selected));
    this.edges(g, path);
    for (let level = 0; level <= this.level; level++) this.nodes(g, level, colour, path);
    this.labels(g, path);
  }

  seen(level) {
    const width = 2 ** level, m = this.margins();
    const at = (pixel) => Math.floor((((pixel - this.view.x - m.x) / this.view.scale) / (this.width - 2 * m.x)) * width);
    return [Math.max(0, at(-40)), Math.min(width - 1, at(this.width + 40))];
  }

  edges(g, path) {
    const curve = (id) => {
      const [x, y] = this.place(id), [px, py] = this.place(parentOf(id)), middle = (y + py) / 2;
      g.moveTo(px, py);
      g.bezierCurveTo(px, middle, x, middle, x, y);
    };
    for (let level = 1; level <= this.level; level++) {
      const [from, to] = this.seen(level), start = 2 ** level - 1;
      g.lineWidth = Math.max(0.4, Math.min(1.4, this.gap(level) / 10));
      g.strokeStyle = styleOf("--edge");
      g.globalAlpha = (this.reach ? 0.45 : 0.9) * Math.min(1, 0.25 + this.gap(level) / 12);
      g.beginPath();
      for (let rank = from; rank <= to; rank++) curve(start + rank);
      g.stroke();
      g.globalAlpha = 1;
      if (this.reach) {
        g.strokeStyle = styleOf("--query");
        for (let rank = from; rank <= to; rank++) {
          const share = this.reach[start + rank];
          if (share < 0.004) continue;
          g.lineWidth = 0.6 + 11 * share;
          g.globalAlpha = 0.25 + 0.6 * Math.sqrt(share);
          g.beginPath(); curve(start + rank); g.stroke();
        }
        g.globalAlpha = 1;
      }
    }
    g.strokeStyle = styleOf("--accent");
    g.lineWidth = 2.6;
    g.beginPath();
    for (const id of path) if (id > 0 && levelOf(id) <= this.level) curve(id);
    g.stroke();
  }

  nodes(g, level, colour, path) {
    const [from, to] = this.seen(level), start = 2 ** level - 1, base = this.radius(level);
    const accent = styleOf("--accent"), ink = styleOf("--ink"), query = styleOf("--query");
    for (let rank = from; rank <= to; rank++) {
      const id = start + rank, [x, y] = this.place(id);
      const found = this.matches.has(id);
      const radius = path.has(id) ? Math.max(4.2, base) : found ? Math.max(3.6, base) : base;
      g.fillStyle = colour(id);
      g.beginPath();
      if (radius < 1.6) { g.fillRect(x - radius, y - 3, 2 * radius, 6); continue; }
      g.arc(x, y, radius, 0, 7);
      g.fill();
      if (path.has(id) || found || id === this.hovered) {
        g.lineWidth = id === this.selected ? 3 : 2;
        g.strokeStyle = found ? query : path.has(id) ? accent : ink;
        g.stroke();
      }
    }
  }

  // Path first, then large nodes: a label is drawn where no other one is.
  labels(g, path) {
    const taken = [];
    const write = (id, strong, force) => {
      const [x, y] = this.place(id);
      if (x < -20 || x > this.width + 20 || y < -10 || y > this.height) return;
      g.font = `${strong ? 650 : 450} ${strong ? 12.5 : 11.5}px system-ui, sans-serif`;
      const most = force ? 230 : Math.max(60, Math.min(200, this.gap(levelOf(id)) - 8));
      const text = clipped(g, this.tree.nodes[id].label, most);
      const wide = g.measureText(text).width, down = this.radius(levelOf(id)) + (strong ? 15 : 12);
      const left = Math.min(Math.max(x - wide / 2, 4), this.width - wide - 4);
      const box = [left - 4, y + down - 11, left + wide + 4, y + down + 4];
      if (taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) return;
      taken.push(box);
      g.fillStyle = styleOf("--paper");
      g.globalAlpha = 0.86;
      g.fillRect(box[0], box[1], box[2] - box[0], box[3] - box[1]);
      g.globalAlpha = 1;
      g.fillStyle = strong ? styleOf("--ink") : styleOf("--soft");
      g.fillText(text, left, y + down);
    };
    const shown = (id) => levelOf(id) <= this.level;
    for (const id of [...path].reverse().filter(shown)) write(id, true, true);
    if (this.hovered !== null && shown(this.hovered)) write(this.hovered, true, true);
    let found = 0;
    for (const id of this.matches) if (shown(id) && found++ < 40) write(id, true, true);
    if (this.reach) {
      const likely = [...this.reach.keys()].filter((id) => id > 0 && this.reach[id] > 0.08 && shown(id));
      likely.sort((a, b) => this.reach[b] - this.reach[a]).slice(0, 24).forEach((id) => write(id, false, true));
    }
    for (let level = 1; level <= this.level && this.gap(level) > 84 && this.row() > 34; level++) {
      const [from, to] = this.seen(level);
      for (let rank = from; rank <= to; rank++) write(2 ** level - 1 + rank, false, false);
    }
  }

  // Moving about
  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const v = this.view, before = this.rise(), m = this.margins();
    const scale = Math.min(2 ** this.tree.depth / 2, Math.max(0.8, v.scale * factor));
    v.x = x - m.x - ((x - m.x - v.x) * scale) / v.scale;
    v.scale = scale;
    v.y = y - m.top - ((y - m.top - v.y) * this.rise()) / before;
    this.bound();
    this.draw();
  }
  bound() {
    const v = this.view, slack = this.width * 0.6;
    v.x = Math.min(slack, Math.max(this.width - this.width * v.scale - slack, v.x));
    const tall = this.height * this.rise();
    v.y = Math.min(this.height * 0.5, Math.max(this.height - tall - this.height * 0.5, v.y));
  }
  fit() { this.view = { scale: 1, x: 0, y: 0 }; this.draw(); }
  // Brings a node into sight, close enough to tell it from its neighbours.
  show(id, closer = false) {
    const wanted = closer ? Math.min(2 ** this.tree.depth / 4, Math.max(1, (2 ** levelOf(id) * 34) / this.width)) : this.view.scale;
    if (wanted > this.view.scale) this.zoom(wanted / this.view.scale);
    const [x, y] = this.place(id);
    if (x < 60 || x > this.width - 60) this.view.x += this.width / 2 - x;
    if (y < 30 || y > this.height - 60) this.view.y += this.height / 2 - y;
    this.draw();
  }
  at(px, py) {
    let best = null, near = 14 ** 2;
    for (let level = 0; level <= this.level; level++) {
      const [from, to] = this.seen(level);
      const [, y] = this.place(2 ** level - 1);
      if (Math.abs(y - py) > 16) continue;
      const m = this.margins();
      const rank = Math.floor((((px - this.view.x - m.x) / this.view.scale) / (this.width - 2 * m.x)) * 2 ** level);
      for (const r of [rank - 1, rank, rank + 1]) {
        if (r < from || r > to) continue;
        const id = 2 ** level - 1 + r, [x] = this.place(id);
        const far = (x - px) ** 2 + (y - py) ** 2;
        if (far < near) [best, near] = [id, far];
      }
    }
    return best;
  }

  listen() {
    const c = this.canvas, place = (event) => { const box = c.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    c.addEventListener("wheel", (event) => { event.preventDefault(); this.zoom(2 ** (-event.deltaY / 300), ...place(event)); }, { passive: false });
    c.addEventListener("pointerdown", (event) => { c.setPointerCapture(event.pointerId); this.pointers.set(event.pointerId, place(event)); this.travel = 0; });
    c.addEventListener("pointermove", (event) => {
      const now = place(event), before = this.pointers.get(event.pointerId);
      if (!before) { const over = this.at(...now); if (over !== this.hovered) { this.hovered = over; this.draw(); } this.tell.hover(over, now); return; }
      this.pointers.set(event.pointerId, now);
      if (this.pointers.size === 2) {
        const [a, b] = [...this.pointers.values()], apart = Math.hypot(a[0] - b[0], a[1] - b[1]);
        if (this.apart) this.zoom(apart / this.apart, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
        this.apart = apart; this.travel = 99;
        return;
      }
      this.travel += Math.hypot(now[0] - before[0], now[1] - before[1]);
      if (this.travel > 4) { c.classList.add("moving"); this.view.x += now[0] - before[0]; this.view.y += now[1] - before[1]; this.bound(); this.draw(); }
    });
    const up = (event) => {
      const [x, y] = place(event);
      if (this.pointers.delete(event.pointerId) && this.travel <= 4 && event.type === "pointerup") { const id = this.at(x, y); if (id !== null) this.tell.choose(id); }
      this.apart = null;
      c.classList.remove("moving");
    };
    c.addEventListener("pointerup", up);
    c.addEventListener("pointercancel", up);
    c.addEventListener("pointerleave", () => { this.hovered = null; this.tell.hover(null); this.draw(); });
    c.addEventListener("dblclick", (event) => this.zoom(2, ...place(event)));
    c.addEventListener("keydown", (event) => this.key(event));
  }
  key(event) {
    const id = this.selected, level = levelOf(id), rank = rankOf(id);
    const moves = {
      ArrowUp: () => (id > 0 ? parentOf(id) : null),
      ArrowDown: () => (level < this.level ? 2 * id + 1 : null),
      ArrowLeft: () => (rank > 0 ? id - 1 : null),
      ArrowRight: () => (rank < 2 ** level - 1 ? id + 1 : null),
      Home: () => 0,
    };
    const acts = { "+": () => this.zoom(1.5), "=": () => this.zoom(1.5), "-": () => this.zoom(1 / 1.5), 0: () => this.fit() };
    if (event.key in moves) { const next = moves[event.key](); if (next !== null) this.tell.choose(next); }
    else if (event.key in acts) acts[event.key]();
    else return;
    event.preventDefault();
  }

  // The same picture as lines of SVG, all of the tree whatever is in sight.
  svg() {
    const escaped = (text) => text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
    const kept = { ...this.view }, colour = painter(this.tree, this.scheme, this.reach), path = new Set(pathTo(this.selected));
    this.view = { scale: 1, x: 0, y: 0 };
    const lines = [`<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="${styleOf("--paper")}"/>`];
    for (let id = 1; id < 2 ** (this.level + 1) - 1; id++) {
      const [x, y] = this.place(id), [px, py] = this.place(parentOf(id)), middle = (y + py) / 2, f = (n) => n.toFixed(1);
      lines.push(`<path d="M${f(px)} ${f(py)}C${f(px)} ${f(middle)} ${f(x)} ${f(middle)} ${f(x)} ${f(y)}" fill="none" stroke="${path.has(id) ? styleOf("--accent") : styleOf("--edge")}" stroke-width="${path.has(id) ? 2.5 : 0.6}"/>`);
    }
    for (let id = 0; id < 2 ** (this.level + 1) - 1; id++) {
      const [x, y] = this.place(id), level = levelOf(id);
      lines.push(`<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${this.radius(level).toFixed(1)}" fill="${colour(id)}"><title>${escaped(this.tree.nodes[id].label)}</title></circle>`);
      if (path.has(id) || this.gap(level) > 90) lines.push(`<text x="${x.toFixed(1)}" y="${(y + 20).toFixed(1)}" text-anchor="middle" fill="${styleOf("--ink")}">${escaped(this.tree.nodes[id].label)}</text>`);
    }
    this.view = kept;
    return `${lines.join("\n")}</svg>`;
  }
}

function clipped(g, text, most) {
  if (g.measureText(text).width <= most) return text;
  let end = text.length;
  while (end > 1 && g.measureText(`${text.slice(0, end)}…`).width > most) end--;
  return `${text.slice(0, end).trimEnd()}…`;
}
