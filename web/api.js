// What the server knows, or what this file carries when there is no server.

import { pathTo } from "./view.js";

const embedded = document.getElementById("data");
const carried = embedded ? JSON.parse(embedded.textContent) : null;
export const offline = carried !== null;

// A token travels in the fragment, which browsers never send; it is kept for this tab only.
function secret() {
  const given = /[#&]token=([^&]+)/.exec(location.hash);
  if (given) {
    sessionStorage.setItem("token", decodeURIComponent(given[1]));
    history.replaceState(null, "", location.pathname + location.hash.replace(given[0], given[0][0] === "#" ? "#" : ""));
  }
  return sessionStorage.getItem("token");
}
const token = offline ? null : secret();

async function ask(path, wanted = {}) {
  const query = new URLSearchParams(Object.entries(wanted).filter(([, value]) => value !== undefined && value !== null));
  const response = await fetch(`api/${path}?${query}`, { headers: token ? { Authorization: `Bearer ${token}` } : {} });
  if (!response.ok) {
    const body = await response.json().catch(() => ({}));
    throw new Error(body.error ?? `the server answered ${response.status}`);
  }
  return response;
}

const answered = new Map();

export async function wholeTree() {
  return carried ? carried.tree : (await ask("tree")).json();
}

export async function oneNode(id) {
  if (carried) {
    const step = (node) => ({ node, label: carried.tree.nodes[node].label, keywords: carried.tree.nodes[node].keywords });
    return { ...carried.nodes[id], path: pathTo(id).map(step) };
  }
  if (!answered.has(id)) answered.set(id, (await ask(`node/${id}`)).json());
  return answered.get(id);
}

export async function nodeDocuments(node, page, size) {
  if (carried) {
    const documents = carried.nodes[node].typical;
    return { total: documents.length, page: 0, size: documents.length, documents };
  }
  return (await ask("documents", { node, page, size })).json();
}

export async function wholeDocument(id) {
  return (await ask("documents", { id })).json();
}

export async function routeOf(item) {
  return (await ask("route", item)).json();
}

export async function searchFor(item, k, level, cover) {
  return (await ask("search", { ...item, k, level, cover })).json();
}

export async function wholePage() {
  return carried ? `<!doctype html>\n${document.documentElement.outerHTML}` : (await ask("export.html")).text();
}
