// Why a document answers a question: where it leaves the question's way, what both have in common, and an account of its
// score. The words are those of the command line.

import { percentage } from "./chance.js";
import { make } from "./elements.js";
import { levelOf } from "./view.js";
import { called } from "./way.js";

const shades = 5;
const signed = (adds) => `${adds < 0 ? "−" : "+"} ${Math.abs(adds).toFixed(3)}`;

function named(node, label, acts) {
  const choose = (event) => { event.preventDefault(); acts.choose(node); };
  return make("a", { href: `#node=${node}`, className: "name", title: called(node, label), on: { click: choose } }, called(node, label));
}

function placeOf({ node, on_way, label, place, place_label, place_chance }, acts) {
  const way = on_way ? ["; on the question’s way"]
    : node === 0 ? ["; off the question’s way from the first split on"]
    : ["; on the question’s way as far as ", named(node, label, acts), ` (level ${levelOf(node)})`];
  return make("p", { className: "place" }, "Place: ", named(place, place_label, acts), `, where the answer is with a chance of ${percentage(place_chance)}`, ...way);
}

// Parts of a whole, side by side in one bar: what is left of the bar is not in common.
function commonOf(common, acts) {
  const parts = common.nodes.map((part, at) => ({ share: part.common, colour: `part part-${at % shades}`, text: percentage(part.common), name: named(part.node, part.label, acts),
    said: `question ${percentage(part.question)}, document ${percentage(part.document)}` }));
  if (common.others >= 0.0005) parts.push({ share: common.others, colour: "part part-rest", text: percentage(common.others), name: make("span", {}, "elsewhere"), said: null });
  const stack = make("div", { className: "stack", role: "img", "aria-label": `In common at level ${common.level}: ${percentage(common.share)}` }, ...parts.map((part) => {
    const piece = make("i", { className: part.colour });
    piece.style.width = `${100 * part.share}%`;
    return piece;
  }));
  return make("section", { className: "common" },
    make("p", {}, `In common at level ${common.level}: `, make("b", {}, percentage(common.share))), stack,
    make("ul", {}, ...parts.map((part) => make("li", { title: part.said }, make("i", { className: part.colour }), part.name, make("output", {}, part.text)))));
}

// Bars to the left and to the right of nothing, on one scale.
function accountOf({ score, average, subjects, others }, acts) {
  const rows = subjects.map((subject) => [subject.node === 0 ? make("span", {}, "for the choice of subject") : make("span", {}, "within ", named(subject.node, subject.label, acts)), subject.adds]);
  rows.push([make("span", {}, "elsewhere"), others]);
  const most = Math.max(1e-9, ...rows.map(([, adds]) => Math.abs(adds)));
  const line = ([name, adds]) => {
    const piece = make("i", { className: adds < 0 ? "less" : "more" });
    piece.style.width = `${(50 * Math.abs(adds)) / most}%`;
    return make("li", {}, name, make("div", { className: "signed", "aria-hidden": "true" }, piece), make("output", {}, signed(adds)));
  };
  return make("section", { className: "account" },
    make("p", {}, "Score ", make("b", {}, score.toFixed(3)), ", against that of the average document"),
    make("ul", {}, make("li", {}, make("span", {}, "average document"), make("div", {}), make("output", {}, average.toFixed(3))), ...rows.map(line),
      make("li", { className: "sum" }, make("span", {}, "score"), make("div", {}), make("output", {}, `= ${score.toFixed(3)}`))));
}

export function whyOf(explanation, acts, open) {
  const { parting, common, account, parts } = explanation;
  const mixed = parts ? make("p", { className: "soft" }, `Mixed score ${(parts.tree + parts.words).toFixed(3)} = ${parts.tree.toFixed(3)} by the tree + ${parts.words.toFixed(3)} by words`) : null;
  return make("div", { className: "why" }, placeOf(parting, acts),
    make("details", { open }, make("summary", { className: "link" }, "Why this score"), commonOf(common, acts), accountOf(account, acts), mixed));
}
