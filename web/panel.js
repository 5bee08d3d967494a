// What is said about the chosen node, its documents page by page, and the tree as a whole.

import { nodeDocuments, offline, oneNode, wholeDocument } from "./api.js";
import { $, bar, grouped, make, ordinal, percent } from "./elements.js";
import { levelOf } from "./view.js";

const pageSize = 10;

export function documentCard(found, extra = {}) {
  const text = make("div", { className: "text" }, found.text);
  const card = make("article", { className: "document" },
    make("header", {}, make("b", {}, found.title || found.id), ...Object.entries(found.metadata ?? {}).slice(0, 3)
      .filter(([, value]) => typeof value !== "object").map(([name, value]) => make("span", { title: name }, String(value))),
    extra.score ? make("span", { className: "score", title: extra.scored ?? "score" }, extra.score) : null));
  card.append(text);
  const toggle = make("button", { type: "button", className: "link", "aria-expanded": "false", on: {
    click: async () => {
      const open = card.classList.toggle("open");
      toggle.textContent = open ? "Less" : "More";
      toggle.setAttribute("aria-expanded", String(open));
      if (open && found.more && !offline) text.textContent = (await wholeDocument(found.id)).text;
    },
  } }, "More");
  if (found.text.length > 180 || found.more) card.append(toggle);
  for (const [name, act] of extra.links ?? []) card.append(make("button", { type: "button", className: "link", on: { click: act } }, name));
  if (extra.below) card.append(extra.below);
  return card;
}

const chips = (words) => make("div", { className: "chips" }, ...words.map((word) =>
  make("span", { title: `in ${grouped(word.documents)} documents here, ${word.keyness.toFixed(1)} times likelier than elsewhere` }, word.text, make("small", {}, `×${word.keyness.toFixed(word.keyness < 10 ? 1 : 0)}`))));

const fact = (value, name, title) => make("div", { title }, make("b", {}, value), make("small", {}, name));

function branchesOf(node, acts) {
  return make("div", { className: "branches" }, ...node.branches.map((branch, side) =>
    make("button", { type: "button", on: { click: () => acts.choose(branch.node, true) }, "aria-label": `${side ? "Right" : "Left"} branch: ${branch.label}, ${branch.documents} documents` },
      make("small", {}, `${side ? "Right →" : "← Left"} · ${grouped(branch.documents)}${acts.folding.folds[branch.node] ? " · says nothing new" : ""}`), make("b", {}, branch.label),
      make("small", {}, branch.apart.slice(0, 6).map((word) => word.text).join(" · ")))));
}

export async function showNode(id, acts) {
  const place = $("node");
  place.setAttribute("aria-busy", "true");
  const node = await oneNode(id);
  if (acts.current() !== id) return;
  const parts = [
    make("p", { className: "soft" }, id ? `Level ${node.level} · node ${node.node} · ${ordinal(node.rank + 1)} of ${grouped(2 ** node.level)}` : "The root · node 0"),
    make("h2", {}, node.label),
    make("p", {}, node.summary),
    make("div", { className: "facts" }, fact(grouped(node.documents), "documents", "documents whose place is below"), fact(percent(node.mass), "mass", "the documents’ mean chance of this node"),
      node.queries === null ? null : fact(percent(node.queries), "queries", "the queries’ mean chance of this node"),
      fact(node.entropy.toFixed(1), "bits", "entropy of the mass over the leaves below: how far the subject still divides")),
  ];
  if (node.branches.length) parts.push(make("h3", {}, "Branches, and what sets them apart"), branchesOf(node, acts));
  if (node.keywords.length && id > 0) parts.push(make("h3", {}, "Keywords"), chips(node.keywords));
  if (id > 0) {
    parts.push(make("h3", {}, "From general to specific"), make("ol", { className: "path" }, ...node.path.filter((step) => step.node === id || acts.folding.shown(step.node)).map((step) =>
      make("li", {}, make("button", { type: "button", "aria-current": step.node === id ? "true" : null, on: { click: () => acts.choose(step.node, true) } }, step.label),
        step.node > 0 ? make("small", {}, step.keywords.join(" · ")) : null))));
  }
  for (const field of node.fields.filter((one) => one.values.length)) {
    const total = field.values.reduce((sum, [, count]) => sum + count, 0) || 1;
    parts.push(make("h3", {}, field.name), ...field.values.map(([value, count]) => bar(value, count / total, grouped(count))));
  }
  if (node.typical_queries.length && id > 0) {
    parts.push(make("h3", {}, "Typical queries"), make("ul", { className: "asked" }, ...node.typical_queries.map((query) => make("li", {},
      acts.ask ? make("button", { type: "button", className: "link", on: { click: () => acts.ask(query.text) } }, query.text) : query.text, make("small", {}, percent(query.reach))))));
  }
  const follow = (found) => (acts.follow ? [["Follow through the tree", () => acts.follow(found.id)]] : []);
  if (node.typical.length && (id > 0 || offline)) {
    parts.push(make("h3", {}, "Most typical documents"), ...node.typical.slice(0, 3).map((found) => documentCard(found, { score: percent(found.reach), scored: "chance that the document belongs here", links: follow(found) })));
  }
  const list = make("div", { id: "documents" });
  if (!offline && node.documents) parts.push(make("h3", {}, "All documents here"), list);
  place.replaceChildren(...parts.filter(Boolean));
  place.removeAttribute("aria-busy");
  if (!offline && node.documents) await showDocuments(list, id, 0, follow);
}

async function showDocuments(list, id, page, follow) {
  const answer = await nodeDocuments(id, page, pageSize);
  const pages = Math.max(1, Math.ceil(answer.total / pageSize));
  const turn = (name, to) => make("button", { type: "button", disabled: to < 0 || to >= pages, on: { click: async () => { await showDocuments(list, id, to, follow); list.scrollIntoView({ block: "start" }); } } }, name);
  list.replaceChildren(...answer.documents.map((found) => documentCard(found, { links: follow(found) })),
    make("div", { className: "pages" }, turn("← Back", page - 1), `${grouped(page + 1)} of ${grouped(pages)}`, turn("Next →", page + 1)));
}

const svgName = "http://www.w3.org/2000/svg";
function drawn(tag, attributes, ...children) {
  const element = document.createElementNS(svgName, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// A small line over the levels, from 0 to 1.
function spark(name, values, text) {
  const at = (value, place) => `${(4 + (place * 112) / Math.max(1, values.length - 1)).toFixed(1)},${(30 - 26 * value).toFixed(1)}`;
  const line = drawn("svg", { viewBox: "0 0 120 34", role: "img", "aria-label": `${name} by level: ${values.map((value) => value.toFixed(2)).join(", ")}` },
    drawn("path", { class: "floor", d: "M4 30H116" }), drawn("polyline", { points: values.map(at).join(" ") }));
  return make("div", { className: "spark" }, make("span", {}, name), line, make("small", {}, text));
}

function table(heads, rows) {
  return make("div", { className: "scroll" }, make("table", {}, make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((cell) => make("td", {}, String(cell))))))));
}

export function showTree(tree, acts) {
  const two = (value) => value.toFixed(2), last = (values) => `${two(values[0])} → ${two(values.at(-1))}`;
  const lines = [["Balance", tree.levels.map((level) => level.balance)], ["Sharpness", tree.levels.map((level) => level.sharpness)],
    ...tree.fields.flatMap((field) => [[`NMI with ${field.name}`, field.levels.map((level) => level.nmi)], [`Purity of ${field.name}`, field.levels.map((level) => level.purity)]])];
  const parts = [make("h2", {}, tree.name), make("p", {}, `${grouped(tree.documents)} documents over ${grouped(2 ** tree.depth)} leaves, ${tree.depth} levels.`),
    make("h3", {}, "From the first level to the leaves"), ...lines.map(([name, values]) => spark(name, values, last(values)))];
  if (tree.has_queries) {
    const level = Math.min(tree.depth, 5), gap = (id) => tree.nodes[id].queries - tree.nodes[id].mass;
    const ids = Array.from({ length: 2 ** level }, (_, rank) => 2 ** level - 1 + rank).sort((a, b) => gap(b) - gap(a));
    const most = Math.max(1e-9, ...ids.map((id) => Math.abs(gap(id))));
    const rows = (some, hot) => some.map((id) => bar(tree.nodes[id].label, Math.abs(gap(id)) / most, `${gap(id) > 0 ? "+" : "−"}${(100 * Math.abs(gap(id))).toFixed(2)}`, { act: () => acts.choose(id, true), hot }));
    parts.push(make("h3", {}, "Asked for more than there is"), ...rows(ids.slice(0, 5), true), make("h3", {}, "More there than asked for"), ...rows(ids.slice(-5).reverse(), false),
      make("p", { className: "soft" }, `Query mass minus document mass at level ${level}, in hundredths.`));
  }
  parts.push(make("h3", {}, "Level by level"), table(["level", "balance", "sharp", "spread", "empty"], tree.levels.map((level) => [level.level, two(level.balance), two(level.sharpness), level.spread.toFixed(1), level.empty])));
  for (const field of tree.fields) parts.push(make("h3", {}, field.name), table(["level", "NMI", "purity"], field.levels.map((level) => [level.level, two(level.nmi), two(level.purity)])));
  parts.push(make("p", { className: "soft" }, "Balance: 1 if all nodes hold equally many documents. Sharpness: mean probability of a document’s likeliest node. Spread: over how many nodes a document spreads. NMI and purity: agreement with the metadata, which training never saw."));
  $("levels").replaceChildren(...parts);
}

export const spokenNode = (tree, id) => `Node ${id}, level ${levelOf(id)}: ${tree.nodes[id].label}, ${grouped(tree.nodes[id].documents)} documents`;
