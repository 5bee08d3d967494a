// Where a question goes: the likeliest way with the chance of each node, and other nodes that are nearly as likely.

import { percentage } from "./chance.js";
import { bar, make } from "./elements.js";

// A node by its label, or by its number where there is none.
export const called = (node, label) => label || `node ${node}`;

// What is worth saying of the way: nodes that say something new, and the last.
const told = (way) => way.steps.filter((step, at) => step.news || at === way.steps.length - 1);

export function wayOf(way, acts) {
  const measured = way.calibrated ? "calibrated on pairs" : "not calibrated";
  const row = (step, deep, before) => {
    const line = bar(`${before}${called(step.node, step.label)}`, step.chance, percentage(step.chance), { act: () => acts.choose(step.node), hot: true });
    line.firstElementChild.style.paddingLeft = `${Math.min(0.7 * deep, 4)}rem`;
    return line;
  };
  const steps = told(way);
  return make("section", { className: "way", "aria-label": "Where the answer is, most likely" },
    make("h3", {}, "Where the answer is, most likely"),
    make("p", { className: "soft" }, `The chance that it lies below a node; ${measured}.`),
    ...steps.map((step, at) => row(step, at, "")), ...way.others.map((step) => row(step, Math.max(0, steps.length - 1), "or ")));
}
