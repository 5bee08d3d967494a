// Chances in words: how likely the answer to a question is below a node.

// A share of 1 as a percentage, as the command line prints it.
export function percentage(share) {
  if (share > 0 && share < 0.005) return "<1%";
  if (share < 1 && share >= 0.995) return ">99%";
  return `${(100 * share).toFixed(0)}%`;
}

// Nodes that are less likely than this nearly vanish from the drawing of a question.
export const unlikely = 0.01;

// How much of a node is seen while a question is asked.
export const light = (chance) => (chance < unlikely ? 0.13 : Math.min(1, 0.4 + 0.6 * Math.sqrt(chance)));

const spaced = (share) => percentage(share).replace("%", " %");
// What the tip of a node says of one item: the answer to a question, or the place of a document.
export function spokenChance(chance, item, calibrated) {
  const where = item.q === undefined ? "that the document belongs below" : "that the answer lies below";
  return `${spaced(chance)} chance ${where}${calibrated ? "" : " (not calibrated)"}`;
}
