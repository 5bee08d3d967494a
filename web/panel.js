// What is said about the chosen node, its documents page by page, and the tree as a whole.

import { nodeDocuments, offline, oneNode, wholeDocument } from "./api.js";
import { $, bar, grouped, make, percent } from "./elements.js";

const pageSize = 10;

export function documentCard(found, extra = {}) {
  const text = make("div", { className: "text" }, found.text);
  const card = make("article", { className: "document" },
    make("header", {}, make("b", {}, found.title || found.id), ...Object.entries(found.metadata ?? {}).slice(0, 3)
      .filter(([, value]) => typeof value !== "object").map(([name, value]) => make("span", { title: name }, String(value))),
    extra.score ? make("span", { className: "score" }, extra.score) : null));
  card.append(text);
  const toggle = make("button", { type: "button", className: "link", "aria-expanded": "false", on: {
    click: async () => {
      const open = card.classList.toggle("open");
      toggle.textContent = open ? "Less" : "More";
      toggle.setAttribute("aria-expanded", String(open));
      if (open && found.more && !offline) text.textContent = (await wholeDocument(found.id)).text;
    },
  } }, "More");
  if (found.text.length > 260 || found.more) card.append(toggle);
  for (const [name, act] of extra.links ?? []) card.append(make("button", { type: "button", className: "link", on: { click: act } }, name));
  if (extra.below) card.append(extra.below);
  return card;
}

const chips = (words) => make("div", { className: "chips" }, ...words.map((word) =>
  make("span", { title: `${word.documents} documents, ${word.keyness.toFixed(1)} times likelier` }, word.text, make("small", {}, `×${word.keyness.toFixed(word.keyness < 10 ? 1 : 0)}`))));

const fact = (value, name) => make("div", {}, make("b", {}, value), make("small", {}, name));

export async function showNode(id, acts) {
  const place = $("node");
  place.setAttribute("aria-busy", "true");
  const node = await oneNode(id);
  if (acts.current() !== id) return;
  const parts = [
    make("p", { className: "soft" }, `Node ${node.node}, level ${node.level}, ${grouped(node.rank + 1)} from the left`),
    make("h2", {}, node.label),
    make("p", {}, node.summary),
    make("div", { className: "facts" }, fact(grouped(node.documents), "documents"), fact(percent(node.mass), "of all mass"),
      fact(node.entropy.toFixed(1), "bits of entropy"), node.queries === null ? null : fact(percent(node.queries), "of all queries")),
  ];
  if (node.keywords.length && id > 0) parts.push(make("h3", {}, "Keywords"), chips(node.keywords));
  if (node.branches.length) {
    parts.push(make("h3", {}, "Branches, and the words that set them apart"), make("div", { className: "branches" },
      ...node.branches.map((branch, side) => make("button", { type: "button", on: { click: () => acts.choose(branch.node, true) } },
        make("small", {}, side ? "right →" : "← left"), make("b", {}, branch.label), make("small", {}, `${grouped(branch.documents)} documents`),
        make("small", {}, branch.apart.slice(0, 6).map((word) => word.text).join(" · "))))));
  }
  parts.push(make("h3", {}, "From general to specific"), make("ol", { className: "path" }, ...node.path.map((step) =>
    make("li", {}, make("button", { type: "button", on: { click: () => acts.choose(step.node, true) } }, step.label),
      step.node > 0 ? make("small", {}, step.keywords.join(" · ")) : null))));
  for (const field of node.fields) {
    const total = field.values.reduce((sum, [, count]) => sum + count, 0) || 1;
    parts.push(make("h3", {}, field.name), ...field.values.map(([value, count]) => bar(value, count / total, grouped(count))));
  }
  if (node.typical_queries.length) {
    parts.push(make("h3", {}, "Typical queries"), ...node.typical_queries.map((query) => bar(query.text, query.reach, percent(query.reach), { act: acts.ask ? () => acts.ask(query.text) : null })));
  }
  parts.push(make("h3", {}, "Most typical documents"), ...node.typical.slice(0, 4).map((found) =>
    documentCard(found, { score: percent(found.reach), links: acts.follow ? [["Follow", () => acts.follow(found.id)]] : [] })));
  const list = make("div", {});
  if (!offline) parts.push(make("h3", {}, "All documents here"), list);
  place.replaceChildren(...parts.filter(Boolean));
  place.removeAttribute("aria-busy");
  if (!offline) await showDocuments(list, id, 0, acts);
}

async function showDocuments(list, id, page, acts) {
  const answer = await nodeDocuments(id, page, pageSize);
  const pages = Math.max(1, Math.ceil(answer.total / pageSize));
  const turn = (name, to) => make("button", { type: "button", disabled: to < 0 || to >= pages, on: { click: () => showDocuments(list, id, to, acts) } }, name);
  list.replaceChildren(...answer.documents.map((found) => documentCard(found, { links: acts.follow ? [["Follow", () => acts.follow(found.id)]] : [] })),
    make("div", { className: "pages" }, turn("← Back", page - 1), `${grouped(page + 1)} of ${grouped(pages)}`, turn("Next →", page + 1)));
}

export function showTree(tree) {
  const two = (value) => value.toFixed(2);
  const rows = tree.levels.map((level, at) => make("tr", {}, ...[level.level, two(level.balance), two(level.sharpness), level.spread.toFixed(1), level.empty,
    ...tree.fields.flatMap((field) => [two(field.levels[at].nmi), two(field.levels[at].purity)])].map((cell) => make("td", {}, String(cell)))));
  const heads = ["level", "balance", "sharp", "spread", "empty", ...tree.fields.flatMap((field) => [`NMI ${field.name}`, "purity"])];
  $("levels").replaceChildren(
    make("h2", {}, tree.name),
    make("p", {}, `${grouped(tree.documents)} documents over ${grouped(2 ** tree.depth)} leaves, ${tree.depth} levels.`),
    make("h3", {}, "Level by level"),
    make("table", {}, make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))), make("tbody", {}, ...rows)),
    make("p", { className: "soft" }, "Balance: 1 if all nodes hold equally many documents. Sharp: mean probability of a document's likeliest node. Spread: over how many nodes a document spreads. NMI and purity: agreement with the metadata."));
}
