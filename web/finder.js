// Finding subjects: words in labels, keywords and summaries, grouped by level, completed while typing.

import { $, make } from "./elements.js";
import { levelOf } from "./view.js";

const most = 40;
const folded = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

export class Finder {
  constructor(tree, tell) {
    this.tree = tree;
    this.tell = tell;
    this.entries = tree.nodes.map((node) => ({ label: folded(node.label), all: folded(`${node.label} ${node.keywords.join(" ")} ${node.summary}`) }));
    this.input = $("words");
    this.list = $("found");
    this.input.addEventListener("input", () => this.look());
    this.input.addEventListener("focus", () => this.input.value && this.look());
    this.input.addEventListener("keydown", (event) => this.key(event));
    // Choosing with a pointer must not take the focus away first.
    this.list.addEventListener("pointerdown", (event) => event.preventDefault());
    this.list.addEventListener("mousedown", (event) => event.preventDefault());
    this.input.addEventListener("blur", () => this.close());
  }

  search(text) {
    const words = folded(text).split(/\s+/).filter(Boolean);
    if (!words.length) return [];
    const found = [];
    this.entries.forEach((entry, id) => {
      if (id === 0 || !this.tree.nodes[id].documents || !words.every((word) => entry.all.includes(word))) return;
      const inLabel = words.every((word) => entry.label.includes(word));
      const starts = entry.label.startsWith(words[0]);
      found.push({ id, rank: (inLabel ? 0 : 2) + (starts ? 0 : 1) });
    });
    return found.sort((a, b) => a.rank - b.rank || a.id - b.id);
  }

  look() {
    const found = this.search(this.input.value);
    this.tell.matched(new Set(found.map((hit) => hit.id)));
    this.options = [];
    const groups = new Map();
    for (const hit of found.slice(0, most)) {
      const level = levelOf(hit.id);
      if (!groups.has(level)) groups.set(level, []);
      groups.get(level).push(hit.id);
    }
    const parts = [];
    for (const [level, ids] of [...groups].sort((a, b) => a[0] - b[0])) {
      parts.push(make("h3", {}, `Level ${level}`));
      for (const id of ids) {
        const option = make("div", { className: "option", role: "option", id: `option-${id}`, "aria-selected": "false", on: { click: () => this.choose(id) } },
          ...this.marked(this.tree.nodes[id].label), make("small", {}, this.tree.nodes[id].keywords.slice(0, 4).join(" · ")));
        this.options.push({ id, option });
        parts.push(option);
      }
    }
    if (!found.length && this.input.value.trim()) parts.push(make("p", { className: "soft" }, "No subject has these words."));
    if (found.length > most) parts.push(make("p", { className: "soft" }, `${found.length - most} more are marked in the tree.`));
    this.list.replaceChildren(...parts);
    this.list.hidden = !parts.length;
    this.input.setAttribute("aria-expanded", String(parts.length > 0));
    this.at = -1;
  }

  marked(label) {
    const plain = label.toLowerCase(), word = this.input.value.trim().toLowerCase().split(/\s+/)[0];
    const at = word && plain.length === label.length ? plain.indexOf(word) : -1;
    return at < 0 ? [label] : [label.slice(0, at), make("mark", {}, label.slice(at, at + word.length)), label.slice(at + word.length)];
  }

  key(event) {
    if (event.key === "Escape") { this.input.value = ""; this.tell.matched(new Set()); this.close(); return; }
    if (this.list.hidden || !this.options.length) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const n = this.options.length;
      this.at = event.key === "ArrowDown" ? (this.at + 1) % n : (this.at + n - 1) % n;
      this.options.forEach(({ option }, at) => option.setAttribute("aria-selected", String(at === this.at)));
      this.options[this.at].option.scrollIntoView({ block: "nearest" });
      this.input.setAttribute("aria-activedescendant", `option-${this.options[this.at].id}`);
    } else if (event.key === "Enter") {
      event.preventDefault();
      this.choose(this.options[Math.max(0, this.at)].id);
    }
  }

  choose(id) {
    this.input.value = this.tree.nodes[id].label;
    this.close();
    this.tell.choose(id);
  }

  close() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }
}
