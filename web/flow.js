// A query on its way: how much of it reaches each node, level by level, what it finds, and which nodes carried
// each score. A second item can be laid beside the first.

import { routeOf, searchFor } from "./api.js";
import { $, bar, make, percent } from "./elements.js";
import { levelOf, pathTo } from "./view.js";
import { documentCard } from "./panel.js";

const hitsShown = 10;
const titleOf = (item) => item.q ?? `Document ${item.document}`;

// How much two items have in common at a level: the sum of what both bring to each node.
export function overlap(a, b, level) {
  let sum = 0;
  for (let id = 2 ** level - 1; id < 2 ** (level + 1) - 1; id++) sum += Math.min(a[id], b[id]);
  return sum;
}

// The way that the item mostly takes.
function ladder(tree, route, acts) {
  return pathTo(route.leaf).slice(1).map((id) =>
    bar(tree.nodes[id].label, route.reach[id], percent(route.reach[id]), { act: () => acts.choose(id), hot: true, before: String(levelOf(id)) }));
}

function reasons(tree, hit, acts) {
  const carried = (list, most) => {
    const rows = list.slice(0, most).map(([node, share]) => bar(tree.nodes[node].label, share / hit.score, percent(share / hit.score), { act: () => acts.choose(node), hot: true }));
    const rest = hit.score - list.slice(0, most).reduce((sum, [, share]) => sum + share, 0);
    if (rest > 1e-6) rows.push(bar("all other nodes", rest / hit.score, percent(rest / hit.score)));
    return rows;
  };
  return make("details", {}, make("summary", { className: "link" }, "Which nodes carried the score"),
    make("p", { className: "soft" }, "By subject"), ...carried(hit.subjects, 5),
    make("p", { className: "soft" }, "By node of the level searched"), ...carried(hit.shares, 4));
}

function beside(tree, first, second, names, acts) {
  const level = Math.min(tree.depth, 5), ids = Array.from({ length: 2 ** level }, (_, rank) => 2 ** level - 1 + rank);
  const leading = (value, most) => ids.filter((id) => value(id) > 0).sort((a, b) => value(b) - value(a)).slice(0, most)
    .map((id) => bar(tree.nodes[id].label, value(id) * 4, percent(value(id)), { act: () => acts.choose(id), hot: true }));
  const rows = [make("h3", {}, "In common, level by level")];
  for (let at = 1; at <= tree.depth; at++) {
    const both = overlap(first.reach, second.reach, at);
    rows.push(bar(`Level ${at}`, both, percent(both), { hot: true }));
  }
  rows.push(make("h3", {}, `Where they meet, at level ${level}`), ...leading((id) => Math.min(first.reach[id], second.reach[id]), 4),
    make("h3", {}, `More of “${names[0]}”`), ...leading((id) => first.reach[id] - second.reach[id], 3),
    make("h3", {}, `More of “${names[1]}”`), ...leading((id) => second.reach[id] - first.reach[id], 3));
  return rows;
}

export async function showQuery(tree, item, state, acts) {
  const place = $("answer");
  place.setAttribute("aria-busy", "true");
  place.replaceChildren(make("p", { className: "soft" }, "Following the query …"));
  try {
    const [route, answer, other] = await Promise.all([routeOf(item), searchFor(item, hitsShown, state.level), state.other ? routeOf(state.other) : null]);
    const compare = make("input", { type: "search", placeholder: "Compare with another query", "aria-label": "Another query to compare with", maxLength: 2000 });
    const form = make("form", { className: "compare", on: { submit: (event) => { event.preventDefault(); if (compare.value.trim()) acts.compare({ q: compare.value.trim() }); } } },
      compare, make("button", { type: "submit" }, "Compare"));
    const link = (name, act) => make("button", { type: "button", className: "link", on: { click: act } }, name);
    const head = other
      ? [make("p", { className: "soft" }, "Compared"), make("h2", {}, make("i", { className: "dot first" }), titleOf(item)), make("h2", {}, make("i", { className: "dot second" }), titleOf(state.other)),
        link("Only the first", () => acts.compare(null)), link("Swap", () => acts.swap()), link("Clear", acts.clear)]
      : [make("p", { className: "soft" }, item.q ? "Query" : "Document as a query"), make("h2", {}, titleOf(item)), link("Clear", acts.clear)];
    place.replaceChildren(...head, tree.can_route ? form : "",
      ...(other ? beside(tree, route, other, [titleOf(item), titleOf(state.other)], acts) : []),
      make("h3", {}, "The way it mostly takes"), ...ladder(tree, route, acts),
      make("h3", {}, `Found at level ${answer.level}`),
      ...answer.hits.map((hit) => documentCard(hit, {
        score: hit.score.toFixed(3),
        links: [["Show in the tree", () => acts.choose(hit.leaf)], ["Compare", () => acts.compare({ document: hit.id })]],
        below: reasons(tree, hit, acts),
      })));
    acts.flowing(route, other);
  } catch (error) {
    place.replaceChildren(make("p", { className: "error", role: "alert" }, error.message));
  }
  place.removeAttribute("aria-busy");
}
