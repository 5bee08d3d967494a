// Elements by hand. Text only ever becomes text: nothing here reads markup.

export const $ = (id) => document.getElementById(id);

export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined) continue;
    if (name === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    else if (name in element && name !== "role") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const percent = (share) => (share >= 0.0995 ? `${(100 * share).toFixed(0)} %` : `${(100 * share).toFixed(share >= 0.00095 ? 1 : 2)} %`);
export const grouped = (number) => number.toLocaleString("en");
export function ordinal(number) {
  const tail = number % 100 > 10 && number % 100 < 14 ? "th" : (["th", "st", "nd", "rd"][number % 10] ?? "th");
  return `${grouped(number)}${tail}`;
}

export function bar(name, share, text, properties = {}) {
  const left = properties.act
    ? make("button", { type: "button", title: name, on: { click: properties.act } }, name)
    : make("span", { title: name }, name);
  return make("div", { className: "bar" }, properties.before ? make("small", {}, properties.before) : null, left,
    make("progress", { max: 1, value: share, className: properties.hot ? "hot" : "", "aria-label": `${name}: ${text}` }),
    make("output", {}, text));
}

export function say(text) {
  $("spoken").textContent = text;
}

export function save(name, content) {
  const link = make("a", { href: URL.createObjectURL(content), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
