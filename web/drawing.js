// The tree on a canvas: its view, its motion, and what is painted over what.

import { painter, palette } from "./colour.js";
import { drawEdges, drawFlow, drawWay } from "./edges.js";
import { drawLabels } from "./labels.js";
import { drawMarks, drawNodes } from "./nodes.js";
import { View, levelOf } from "./view.js";

export class Drawing {
  constructor(canvas, tree, folding, tell) {
    Object.assign(this, { canvas, tree, folding, tell, selected: 0, hovered: null, reach: null, other: null, matches: new Set(), scheme: { key: "size" }, front: Infinity, clips: new Map() });
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
  stands() {
    const out = new Map(), inside = (x) => x > 30 && x < this.view.width - 30;
    let below = null;
    for (const id of this.folding.path(this.selected).filter((step) => levelOf(step) <= this.view.level).reverse()) {
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
  // The node at a place of the canvas: one of the path where it stands, or any other that is seen.
  pick(px, py) {
    for (const [id, [x, y]] of this.path ?? []) if ((x - px) ** 2 + (y - py) ** 2 < 144) return id;
    return this.view.nodeAt(px, py, (id) => this.folding.shown(id));
  }

  paint(g) {
    const v = this.view, ink = palette();
    const shade = (this.colour ??= painter(this.tree, this.scheme, this.reach, this.other));
    const tint = (id) => (this.reach && levelOf(id) > this.front ? ink.even : shade(id));
    g.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    g.fillStyle = ink.paper;
    g.fillRect(0, 0, v.width, v.height);
    const path = (this.path = this.stands());
    this.rows(g, ink);
    for (let level = 1; level <= v.level; level++) drawEdges(g, this, level, ink);
    for (const [reach, colour, side] of [[this.reach, ink.query, this.other ? -1 : 0], [this.other, ink.second, 1]]) {
      if (reach) drawFlow(g, this, reach, colour, side);
    }
    drawWay(g, path, ink);
    for (let level = 0; level <= v.level; level++) drawNodes(g, this, level, tint);
    drawMarks(g, this, path, ink, tint);
    drawLabels(g, this, path, ink);
    this.overview(g, ink);
  }

  rows(g, ink) {
    g.font = "10.5px system-ui, sans-serif";
    g.fillStyle = ink.faint;
    g.textAlign = "left";
    for (let level = 1; level <= this.view.level; level++) g.fillText(String(level), 6, this.view.down(level) + 3.5);
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
