// What a node's colour says. Every scheme gives a number from 0 to 1, a signed one, or a class.

const classes = ["#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#ff8ab7", "#a463f2", "#97bbf5", "#9c6b4e", "#9498a0", "#c9a227", "#2f9e9e"];

export const styleOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export function schemes(tree) {
  const list = [{ key: "size", name: "Size" }];
  tree.fields.forEach((field, at) => {
    list.push({ key: `field ${at}`, name: field.name, field: at });
    list.push({ key: `purity ${at}`, name: `Purity: ${field.name}`, purity: at });
  });
  if (tree.has_queries) list.push({ key: "queries", name: "Query mass" }, { key: "gap", name: "Asked minus held" });
  return list;
}

function mixed(from, to, t) {
  const part = (hex, at) => parseInt(hex.slice(1 + 2 * at, 3 + 2 * at), 16);
  const both = [0, 1, 2].map((at) => Math.round(part(from, at) + (part(to, at) - part(from, at)) * t));
  return `rgb(${both.join(",")})`;
}

// A painter answers the colour of a node; a reach, when there is one, overrules the scheme.
export function painter(tree, scheme, reach) {
  const [low, high, less, more, query, empty] = ["--low", "--high", "--less", "--more", "--query", "--line"].map(styleOf);
  const steps = Array.from({ length: 33 }, (_, t) => mixed(low, high, t / 32));
  const ramp = (t) => steps[Math.round(32 * Math.min(1, Math.max(0, t)))];
  const heat = Array.from({ length: 33 }, (_, t) => mixed(low, query, t / 32));
  const width = (id) => 2 ** Math.floor(Math.log2(id + 1));
  if (reach) {
    return (id) => heat[Math.round(32 * Math.min(1, Math.sqrt(reach[id])))];
  }
  if (scheme.field !== undefined) {
    return (id) => {
      const top = tree.nodes[id].top[scheme.field];
      return top ? mixed(low, classes[top[0] % classes.length], 0.25 + 0.75 * top[1]) : empty;
    };
  }
  if (scheme.purity !== undefined) {
    return (id) => ((top) => (top ? ramp(top[1]) : empty))(tree.nodes[id].top[scheme.purity]);
  }
  if (scheme.key === "queries") return (id) => ramp((tree.nodes[id].queries * width(id)) / 3);
  if (scheme.key === "gap") {
    return (id) => {
      const gap = Math.log2((tree.nodes[id].queries + 1e-6) / (tree.nodes[id].mass + 1e-6)) / 2;
      return gap > 0 ? mixed(low, less, Math.min(1, gap)) : mixed(low, more, Math.min(1, -gap));
    };
  }
  return (id) => (tree.nodes[id].documents ? ramp(Math.log2(1 + (tree.nodes[id].documents / tree.documents) * width(id)) / 2.2) : empty);
}

export function legendOf(tree, scheme, reach) {
  const ramp = (from, to) => `linear-gradient(90deg, ${styleOf(from)}, ${styleOf(to)})`;
  if (reach) return [["0 %", null], [null, ramp("--low", "--query"), true], ["100 % of the query", null]];
  if (scheme.field !== undefined) {
    return tree.fields[scheme.field].values.slice(0, 12).map((value, at) => [value, classes[at % classes.length]]);
  }
  if (scheme.key === "gap") return [["more asked than held", styleOf("--less")], ["more held than asked", styleOf("--more")]];
  const ends = scheme.purity !== undefined ? ["mixed", "pure"] : scheme.key === "queries" ? ["few questions", "many"] : ["smaller than its level's mean", "larger"];
  return [[ends[0], null], [null, ramp("--low", "--high"), true], [ends[1], null]];
}
