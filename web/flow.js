// A query on its way: how much of it reaches each node, level by level, what it finds, and which nodes carried
// each score. A second item can be laid beside the first.

import { routeOf, searchFor } from "./api.js";
import { $, bar, make, percent } from "./elements.js";
import { levelOf, pathTo } from "./drawing.js";
import { documentCard } from "./panel.js";

const shown = 10;

// How much two items have in common at a level: the sum of what both bring to each node.
export function overlap(a, b, level) {
  let sum = 0;
  for (let id = 2 ** level - 1; id < 2 ** (level + 1) - 1; id++) sum += Math.min(a[id], b[id]);
  return sum;
}

function ladder(tree, route, acts) {
  const rows = [];
  for (let level = 1; level <= tree.depth; level++) {
    let best = 2 ** level - 1;
    for (let id = best; id < 2 ** (level + 1) - 1; id++) if (route.reach[id] > route.reach[best]) best = id;
    rows.push(bar(`${level}. ${tree.nodes[best].label}`, route.reach[best], percent(route.reach[best]), { act: () => acts.choose(best), hot: true }));
  }
  return rows;
}

function reasons(tree, hit, acts) {
  const rows = hit.shares.slice(0, 4).map(([node, share]) => bar(tree.nodes[node].label, share / hit.score, percent(share / hit.score), { act: () => acts.choose(node), hot: true }));
  const rest = hit.shares.slice(4).reduce((sum, [, share]) => sum + share, hit.others);
  if (rest > 0) rows.push(bar("all other nodes", rest / hit.score, percent(rest / hit.score)));
  return make("details", {}, make("summary", { className: "link" }, "Which nodes carried the score"), ...rows);
}

export async function showQuery(tree, item, state, acts) {
  const place = $("answer");
  place.setAttribute("aria-busy", "true");
  place.replaceChildren(make("p", { className: "soft" }, "Following the query …"));
  try {
    const [route, answer] = await Promise.all([routeOf(item), searchFor(item, shown, state.level)]);
    const other = state.other ? await routeOf(state.other) : null;
    const title = item.q ?? `Document ${item.document}`;
    const compare = make("input", { type: "search", placeholder: "Lay another query beside it", "aria-label": "Another query to compare with" });
    const form = make("form", { on: { submit: (event) => { event.preventDefault(); if (compare.value.trim()) acts.compare({ q: compare.value.trim() }); } } }, compare);
    const beside = [];
    if (other) {
      beside.push(make("h3", {}, `In common with “${state.other.q ?? `document ${state.other.document}`}”`));
      for (let level = 1; level <= tree.depth; level++) {
        const both = overlap(route.reach, other.reach, level);
        beside.push(bar(`Level ${level}`, both, percent(both), { hot: true }));
      }
    }
    place.replaceChildren(
      make("p", { className: "soft" }, item.q ? "Query" : "Document as a query"), make("h2", {}, title),
      make("button", { type: "button", className: "link", on: { click: acts.clear } }, "Clear"),
      make("h3", {}, "Likeliest node of each level"), ...ladder(tree, route, acts), ...beside, form,
      make("h3", {}, `Found at level ${answer.level}`),
      ...answer.hits.map((hit) => documentCard(hit, {
        score: hit.score.toFixed(3),
        links: [["Show leaf", () => acts.choose(hit.leaf)], ["Compare", () => acts.compare({ document: hit.id })]],
        below: reasons(tree, hit, acts),
      })));
    acts.flowing(route, pathTo(route.leaf).filter((id) => levelOf(id) <= state.level));
  } catch (error) {
    place.replaceChildren(make("p", { className: "error", role: "alert" }, error.message));
  }
  place.removeAttribute("aria-busy");
}
