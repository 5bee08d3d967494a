// The tree on a canvas: edges, nodes, the chosen path, the flow of a query, and as many labels as fit.

import { painter, palette } from "./colour.js";
import { View, levelOf, parentOf, pathTo } from "./view.js";

// Nodes nearer to each other than this share a column of pixels.
const crowded = 2.2;

export class Drawing {
  constructor(canvas, tree, tell) {
    Object.assign(this, { canvas, tree, tell, selected: 0, hovered: null, reach: null, other: null, matches: new Set(), scheme: { key: "size" }, front: Infinity, clips: new Map() });
    this.view = new View(tree.depth);
    this.still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.mean = tree.nodes.map((_, id) => tree.documents / 2 ** levelOf(id));
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  resize() {
    const box = this.canvas.getBoundingClientRect(), first = !this.view.width;
    this.ratio = devicePixelRatio || 1;
    this.canvas.width = Math.round(box.width * this.ratio);
    this.canvas.height = Math.round(box.height * this.ratio);
    Object.assign(this.view, { width: box.width, height: box.height });
    Object.assign(this.view, this.view.bounded(this.view));
    if (first) this.tell.ready();
    this.draw();
  }

  // Lets a query run down the tree, level by level.
  run(reach, other) {
    Object.assign(this, { reach, other, colour: null, front: this.still ? Infinity : 0 });
    const start = performance.now();
    const step = (now) => {
      this.front = (Math.max(0, now - start) / 1100) * (this.view.level + 1);
      if (this.front > this.view.level + 1) this.front = Infinity;
      else requestAnimationFrame(step);
      this.draw();
    };
    if (this.still) this.draw();
    else requestAnimationFrame(step);
  }
  // Colours are kept until what they say changes.
  recolour() { this.colour = null; this.draw(); }
  draw() {
    if (this.pending || !this.view.width) return;
    this.pending = requestAnimationFrame(() => { this.pending = null; this.paint(this.canvas.getContext("2d")); });
  }
  // Moves to another view, smoothly where that is wanted.
  travel(to) {
    cancelAnimationFrame(this.moving);
    const from = { scale: this.view.scale, x: this.view.x }, start = performance.now();
    if (this.still || (Math.abs(to.x - from.x) < 1 && Math.abs(to.scale - from.scale) < 0.001)) return this.jump(to);
    const middle = (view) => (this.view.span / 2 - view.x) / (this.view.span * view.scale);
    const step = (now) => {
      const t = Math.min(1, Math.max(0, (now - start) / 320)), eased = t * t * (3 - 2 * t);
      const scale = from.scale * (to.scale / from.scale) ** eased;
      // The middle moves so that its speed on the screen is even while the scale changes.
      const grown = to.scale === from.scale ? eased : (1 / from.scale - 1 / scale) / (1 / from.scale - 1 / to.scale);
      const share = middle(from) + (middle(to) - middle(from)) * grown;
      Object.assign(this.view, { scale, x: this.view.span / 2 - share * this.view.span * scale });
      if (t === 1) Object.assign(this.view, to);
      else this.moving = requestAnimationFrame(step);
      this.draw();
    };
    this.moving = requestAnimationFrame(step);
  }
  jump(to) { cancelAnimationFrame(this.moving); Object.assign(this.view, to); this.draw(); }
  zoom(factor, at) { this.jump(this.view.zoomed(factor, at)); }
  fit() { this.travel({ scale: 1, x: 0 }); }
  show(id, closer) {
    const [x] = this.view.place(id), out = x < 50 || x > this.view.width - 50;
    if (closer || out || this.view.gap(levelOf(id)) < 16) this.travel(this.view.framing(id));
    this.draw();
  }

  // Nodes of the path that are out of sight stand over the ones below them, so that the way from the root can always
  // be read.
  stands(path) {
    const out = new Map(), inside = (x) => x > 30 && x < this.view.width - 30;
    let below = null;
    for (const id of [...path].reverse()) {
      let [x, y] = this.view.place(id);
      if (!inside(x)) {
        const near = below ?? Math.min(this.view.width - 34, Math.max(34, x));
        x = Math.min(this.view.width - 90, Math.max(90, near + (below === null ? 0 : Math.sign(x - near) * 34)));
      }
      out.set(id, [x, y]);
      below = x;
    }
    return out;
  }
  // The node at a place of the canvas: one of the path where it stands, or any other.
  pick(px, py) {
    for (const [id, [x, y]] of this.path ?? []) if ((x - px) ** 2 + (y - py) ** 2 < 144) return id;
    return this.view.nodeAt(px, py);
  }
  radius(level) { return Math.max(1.2, Math.min(level === 0 ? 11 : 10 - level * 0.35, this.view.gap(level) * 0.34, this.view.row * 0.2)); }
  // The area of a node grows with its documents, beside the mean of its level.
  size(id, base) {
    if (base < 3) return base;
    return base * Math.min(1.35, Math.max(0.5, Math.sqrt(this.tree.nodes[id].documents / this.mean[id])));
  }

  paint(g) {
    const v = this.view, ink = palette();
    const shade = (this.colour ??= painter(this.tree, this.scheme, this.reach, this.other));
    const tint = (id) => (this.reach && levelOf(id) > this.front ? ink.even : shade(id));
    g.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    g.fillStyle = ink.paper;
    g.fillRect(0, 0, v.width, v.height);
    const path = (this.path = this.stands(pathTo(this.selected).filter((id) => levelOf(id) <= v.level)));
    this.rows(g, ink);
    for (let level = 1; level <= v.level; level++) this.edges(g, level, ink);
    for (const [reach, colour, shift] of [[this.reach, ink.query, this.other ? -1.5 : 0], [this.other, ink.second, 1.5]]) {
      if (reach) this.flow(g, reach, colour, shift);
    }
    this.way(g, path, ink);
    for (let level = 0; level <= v.level; level++) this.nodes(g, level, tint);
    this.marks(g, path, ink, tint);
    this.labels(g, path, ink);
    this.overview(g, ink);
  }

  rows(g, ink) {
    g.font = "10.5px system-ui, sans-serif";
    g.fillStyle = ink.faint;
    g.textAlign = "left";
    for (let level = 1; level <= this.view.level; level++) g.fillText(String(level), 6, this.view.down(level) + 3.5);
  }
  curve(g, from, to, shift = 0) {
    const middle = (from[1] + to[1]) / 2;
    g.moveTo(from[0] + shift, from[1]);
    g.bezierCurveTo(from[0] + shift, middle, to[0] + shift, middle, to[0] + shift, to[1]);
  }
  edges(g, level, ink) {
    const v = this.view, [from, to] = v.seen(level), gap = v.gap(level), start = 2 ** level - 1;
    const step = gap >= 3 ? 1 : 2 ** Math.ceil(Math.log2(3 / gap));
    g.lineWidth = Math.max(0.5, Math.min(1.4, gap / 10));
    g.strokeStyle = ink.edge;
    g.globalAlpha = (this.reach ? 0.5 : 1) * Math.min(1, 0.3 + gap / 14);
    g.beginPath();
    for (let rank = from - (from % step); rank <= to; rank += step) {
      const id = start + rank, ends = [v.place(parentOf(id)), v.place(id)];
      // A line between two nodes that are out of sight says nothing.
      if (ends.some(([x]) => x > -60 && x < v.width + 60)) this.curve(g, ...ends);
    }
    g.stroke();
    g.globalAlpha = 1;
  }
  flow(g, reach, colour, shift) {
    const v = this.view;
    g.strokeStyle = colour;
    for (let level = 1; level <= Math.min(v.level, this.front); level++) {
      const [from, to] = v.seen(level), start = 2 ** level - 1, least = Math.max(0.002, 0.25 / 2 ** level);
      for (let rank = from; rank <= to; rank++) {
        const id = start + rank, share = reach[id];
        if (share < least) continue;
        g.lineWidth = 0.5 + 15 * share;
        g.globalAlpha = Math.min(0.9, 0.12 + 0.9 * Math.sqrt(share));
        g.beginPath();
        this.curve(g, v.place(parentOf(id)), v.place(id), shift);
        g.stroke();
      }
    }
    g.globalAlpha = 1;
  }
  way(g, path, ink) {
    g.strokeStyle = ink.accent;
    g.lineWidth = 2.4;
    g.beginPath();
    for (const [id, at] of path) if (id > 0) this.curve(g, path.get(parentOf(id)), at);
    g.stroke();
  }
  nodes(g, level, tint) {
    const v = this.view, [from, to] = v.seen(level), start = 2 ** level - 1, y = v.down(level);
    if (v.gap(level) < crowded) return this.band(g, level, [from, to], tint);
    const base = this.radius(level);
    for (let rank = from; rank <= to; rank++) {
      const id = start + rank;
      g.fillStyle = tint(id);
      if (base < 1.7) { g.fillRect(v.place(id)[0] - base, y - 4, 2 * base, 8); continue; }
      g.beginPath();
      g.arc(v.place(id)[0], y, this.size(id, base), 0, 7);
      g.fill();
    }
  }
  // One column of pixels for many nodes: the one that weighs most is seen.
  band(g, level, [from, to], tint) {
    const v = this.view, start = 2 ** level - 1, y = v.down(level);
    const weight = (id) => (this.reach ? Math.max(this.reach[id], this.other?.[id] ?? 0) : this.tree.nodes[id].documents);
    let column = null, best = start + from;
    const put = () => { g.fillStyle = tint(best); g.fillRect(column * crowded, y - 4.5, crowded + 0.3, 9); };
    for (let rank = from; rank <= to; rank++) {
      const id = start + rank, here = Math.floor(v.place(id)[0] / crowded);
      if (here !== column) { if (column !== null) put(); column = here; best = id; }
      else if (weight(id) > weight(best)) best = id;
    }
    if (column !== null) put();
  }
  marks(g, path, ink, tint) {
    const ring = (id, colour, wide) => {
      const [x, y] = path.get(id) ?? this.view.place(id), level = levelOf(id);
      if (level > this.view.level || x < -20 || x > this.view.width + 20) return;
      g.beginPath();
      g.arc(x, y, Math.max(path.has(id) ? 4.5 : 3.4, this.size(id, this.radius(level))), 0, 7);
      g.fillStyle = tint(id);
      g.fill();
      g.lineWidth = wide;
      g.strokeStyle = colour;
      g.stroke();
    };
    for (const id of this.matches) ring(id, ink.query, 2);
    for (const id of path.keys()) ring(id, ink.accent, id === this.selected ? 3.4 : 2);
    if (this.hovered !== null) ring(this.hovered, ink.ink, 2);
  }

  // The path first, then what was found, then large nodes: a label is drawn where no other one is.
  labels(g, path, ink) {
    const v = this.view, taken = [], roomy = v.row > 46;
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
      const text = this.clipped(g, font, this.tree.nodes[id].label, room);
      const words = look === "path" && roomy && id > 0 ? this.clipped(g, small, this.tree.nodes[id].keywords.slice(0, 4).join(" · "), Math.max(room, 210)) : "";
      g.font = small;
      const under = words ? g.measureText(words).width : 0;
      g.font = font;
      const wide = Math.max(g.measureText(text).width, under), down = Math.max(4.5, this.size(id, this.radius(level))) + 13;
      const left = Math.min(Math.max(x - wide / 2, 16), v.width - wide - 6);
      const box = [left - 5, y + down - 11, left + wide + 5, y + down + (words ? 17 : 4)];
      if (taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) return;
      taken.push(box);
      if (look === "path") {
        g.fillStyle = ink.paper;
        g.globalAlpha = 0.88;
        g.fillRect(box[0] + 2, box[1], box[2] - box[0] - 4, box[3] - box[1]);
        g.globalAlpha = 1;
      }
      line(text, left + (wide - g.measureText(text).width) / 2, y + down, strong ? ink.ink : ink.soft);
      g.font = small;
      if (words) line(words, left + (wide - under) / 2, y + down + 13, ink.soft);
    };
    const own = v.row > 34 ? [...path.keys()] : [this.selected];
    for (const id of own) write(id, "path", 250);
    if (this.hovered !== null) write(this.hovered, "strong", 250);
    [...this.matches].slice(0, 40).forEach((id) => write(id, "strong", 200));
    if (this.reach && v.row > 34) {
      const level = (id) => this.reach[id] * 2 ** levelOf(id);
      const likely = Array.from({ length: Math.min(this.reach.length, 511) }, (_, id) => id).filter((id) => id > 0 && level(id) > 1.5);
      likely.sort((a, b) => levelOf(a) - levelOf(b) || this.reach[b] - this.reach[a]).slice(0, 40).forEach((id) => write(id, "soft", 170));
    }
    for (let level = 1; level <= v.level && v.gap(level) > 70 && v.row > 26; level++) {
      const [from, to] = v.seen(level);
      for (let rank = from; rank <= to; rank++) write(2 ** level - 1 + rank, "soft", Math.min(220, v.gap(level) - 10));
    }
  }
  clipped(g, font, text, most) {
    const room = Math.floor(most / 6) * 6, key = `${font}|${room}|${text}`;
    if (this.clips.has(key)) return this.clips.get(key);
    g.font = font;
    let [low, high] = [1, text.length];
    if (g.measureText(text).width > room) {
      while (low < high) { const half = (low + high + 1) >> 1; if (g.measureText(`${text.slice(0, half)}…`).width > room) high = half - 1; else low = half; }
      text = `${text.slice(0, low).trimEnd()}…`;
    }
    if (this.clips.size > 4000) this.clips.clear();
    this.clips.set(key, text);
    return text;
  }

  // Which part of the tree is in sight, when it is not all of it.
  overview(g, ink) {
    const v = this.view;
    if (v.scale < 1.02) return;
    const [from, to] = v.window(), wide = v.span;
    g.fillStyle = ink.line;
    g.fillRect(30, 6, wide, 5);
    g.fillStyle = ink.accent;
    g.fillRect(30 + from * wide, 6, Math.max(6, (to - from) * wide), 5);
  }
}
