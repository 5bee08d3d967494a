// A question: where it goes, what it finds and why. A second item can be laid beside the first.

import { routeOf, searchFor } from "./api.js";
import { percentage } from "./chance.js";
import { $, bar, make, percent } from "./elements.js";
import { documentCard } from "./panel.js";
import { wayOf } from "./way.js";
import { whyOf } from "./why.js";

const hitsShown = 10;
// Chances of finding the answer for which not every document need be read.
const covers = [0.8, 0.9, 0.95, 0.99];
const titleOf = (item) => item.q ?? `Document ${item.document}`;

// How much two items have in common at a level: the sum of the smaller chances of its nodes.
export function overlap(a, b, level) {
  let sum = 0;
  for (let id = 2 ** level - 1; id < 2 ** (level + 1) - 1; id++) sum += Math.min(a[id], b[id]);
  return sum;
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

// How much is read to find it, and how much was.
function readOf(answer, chosen, acts) {
  const choices = [["", "all documents"], ...covers.map((chance) => [String(chance), `enough for a chance of ${percentage(chance)}`])];
  const select = make("select", { "aria-label": "Documents to read", on: { change: () => acts.cover(Number(select.value) || null) } }, ...choices.map(([value, name]) => make("option", { value }, name)));
  select.value = String(chosen ?? "");
  const chance = answer.cover === null || answer.share_read === 1 ? "" : `; the answer is among them with a chance of ${percentage(answer.cover)}`;
  return [make("label", { className: "read soft" }, "Read ", select), answer.share_read === 1 ? "" : make("p", { className: "soft" }, `${percentage(answer.share_read)} of the documents were read${chance}.`)];
}

export async function showQuery(tree, item, state, acts) {
  const place = $("answer");
  place.setAttribute("aria-busy", "true");
  place.replaceChildren(make("p", { className: "soft" }, "Following the question …"));
  try {
    const [route, answer, other] = await Promise.all([routeOf(item), searchFor(item, hitsShown, state.level, state.cover), state.other ? routeOf(state.other) : null]);
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
      wayOf(route.way, acts), make("h3", {}, answer.level < tree.depth ? `Found at level ${answer.level}` : "Found"), ...readOf(answer, state.cover, acts),
      ...answer.hits.map((hit, rank) => documentCard(hit, {
        score: hit.score.toFixed(3),
        links: [["Show in the tree", () => acts.choose(hit.place)], ["Compare", () => acts.compare({ document: hit.id })]],
        below: whyOf(hit.explanation, acts, rank === 0),
      })));
    acts.flowing(route, other);
  } catch (error) {
    place.replaceChildren(make("p", { className: "error", role: "alert" }, error.message));
  }
  place.removeAttribute("aria-busy");
}
