// Where nodes stand: x is the middle of the leaves under a node, y its level. Zooming widens the tree and never makes it
// taller, so that every level stays in sight.

export const levelOf = (id) => Math.floor(Math.log2(id + 1));
export const parentOf = (id) => (id - 1) >> 1;
export const rankOf = (id) => id + 1 - 2 ** levelOf(id);
export function pathTo(id) {
  const path = [id];
  while (path[0] > 0) path.unshift(parentOf(path[0]));
  return path;
}

const side = 30, top = 30;

export class View {
  constructor(depth) {
    Object.assign(this, { depth, width: 0, height: 0, scale: 1, x: 0, foot: 36, level: depth });
  }

  get span() { return Math.max(1, this.width - 2 * side); }
  get row() { return (this.height - top - this.foot) / Math.max(1, this.level); }
  get closest() { return Math.max(1, 2 ** this.depth / 5); }
  gap(level) { return (this.span * this.scale) / 2 ** level; }
  across(share) { return side + share * this.span * this.scale + this.x; }
  down(level) { return top + level * this.row; }
  place(id) {
    const level = levelOf(id);
    return [this.across((rankOf(id) + 0.5) / 2 ** level), this.down(level)];
  }
  rankAt(level, x) { return Math.floor(((x - side - this.x) / (this.span * this.scale)) * 2 ** level); }
  // The first and the last rank of a level that are in sight.
  seen(level) {
    const last = 2 ** level - 1;
    return [Math.max(0, this.rankAt(level, -60)), Math.min(last, this.rankAt(level, this.width + 60))];
  }
  // The share of all leaves that is in sight.
  window() {
    const at = (x) => Math.min(1, Math.max(0, (x - side - this.x) / (this.span * this.scale)));
    return [at(0), at(this.width)];
  }

  bounded({ scale, x }) {
    const held = Math.min(this.closest, Math.max(1, scale));
    return { scale: held, x: Math.min(0, Math.max(this.span * (1 - held), x)) };
  }
  zoomed(factor, at = this.width / 2) {
    const scale = Math.min(this.closest, Math.max(1, this.scale * factor));
    return this.bounded({ scale, x: at - side - ((at - side - this.x) * scale) / this.scale });
  }
  // The view in which a node and what is below it can be read; the whole tree for the general ones.
  framing(id) {
    const level = levelOf(id);
    if (level < 3) return { scale: 1, x: 0 };
    const wanted = Math.max(0.26, 110 / this.span) * 2 ** level;
    const scale = Math.min(this.closest, Math.max(1, wanted));
    return this.bounded({ scale, x: this.span / 2 - ((rankOf(id) + 0.5) / 2 ** level) * this.span * scale });
  }
  // The view in which a share of the leaves is in the middle.
  centred(share) { return this.bounded({ scale: this.scale, x: this.span / 2 - share * this.span * this.scale }); }

  nodeAt(px, py, shown) {
    let best = null, near = 15 ** 2;
    for (let level = 0; level <= this.level; level++) {
      const y = this.down(level);
      if (Math.abs(y - py) > 15) continue;
      const rank = this.rankAt(level, px), [from, to] = this.seen(level);
      for (const r of [rank - 1, rank, rank + 1]) {
        const id = 2 ** level - 1 + r;
        if (r < from || r > to || !shown(id)) continue;
        const [x] = this.place(id), far = (x - px) ** 2 + (y - py) ** 2;
        if (far < near) [best, near] = [id, far];
      }
    }
    return best;
  }
}
