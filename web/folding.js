// Which nodes are seen. A node whose label says nothing new under its parent is folded: its children stand under the nearest
// node above that is seen.

import { levelOf, parentOf, pathTo } from "./view.js";

export class Folding {
  constructor(tree) {
    this.folds = tree.nodes.map((node, id) => id > 0 && node.folded);
    this.holds = tree.nodes.map((node) => node.documents > 0);
    this.inner = 2 ** tree.depth - 1;
    this.chosen = 0;
    this.open(false);
  }

  // Shows every node, or folds those that say nothing new.
  open(all) {
    this.all = all;
    this.over = new Int32Array(this.folds.length);
    this.seenBelow = new Uint8Array(this.folds.length);
    for (let id = 1; id < this.folds.length; id++) this.over[id] = this.shown(parentOf(id)) ? parentOf(id) : this.over[parentOf(id)];
    for (let id = this.folds.length - 1; id > 0; id--) if (this.shown(id) || this.seenBelow[id]) this.seenBelow[parentOf(id)] = 1;
  }

  // The chosen node is seen, whatever it says.
  choose(id) {
    const changed = this.folds[id] || this.folds[this.chosen];
    this.chosen = id;
    if (changed) this.open(this.all);
  }

  get any() { return this.folds.some(Boolean); }
  shown(id) { return this.all || !this.folds[id] || id === this.chosen; }
  // Whether a branch with documents ends here out of sight.
  ends(id) { return !this.shown(id) && !this.seenBelow[id] && this.holds[id] && (this.shown(parentOf(id)) || this.seenBelow[parentOf(id)] === 1); }
  // The nearest node above that is seen; the root for itself.
  above(id) { return this.over[id]; }
  // The nodes from the root to a node, without folded ones on the way.
  path(id) { return pathTo(id).filter((step) => step === id || this.shown(step)); }
  // The first node below that is seen and stands no lower than a level, or nothing.
  below(id, level) {
    const open = [id];
    while (open.length) {
      const next = open.shift();
      if (next !== id && this.shown(next)) return next;
      if (next < this.inner && levelOf(next) < level) open.push(...[2 * next + 1, 2 * next + 2].filter((child) => this.shown(child) || this.seenBelow[child]));
    }
    return null;
  }
  // The next node of a level, to the left or to the right, that is seen, or nothing.
  beside(id, step) {
    const level = levelOf(id), [first, last] = [2 ** level - 1, 2 ** (level + 1) - 2];
    for (let next = id + step; next >= first && next <= last; next += step) if (this.shown(next)) return next;
    return null;
  }
}
