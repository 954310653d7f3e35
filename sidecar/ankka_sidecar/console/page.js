"use strict";
// Everything that users wrote reaches the page as textContent only.
const at = (id) => document.getElementById(id);
let next = null;

function row(cells, className, onClick) {
  const tr = document.createElement("tr");
  for (const cell of cells) {
    const td = document.createElement("td");
    td.className = "text";
    td.textContent = cell ?? "";
    tr.append(td);
  }
  if (className) tr.children[2].classList.add(className);
  if (onClick) tr.addEventListener("click", onClick);
  return tr;
}

async function read(path) {
  const response = await fetch(path);
  const body = await response.json();
  if (!response.ok) throw new Error(body.detail ?? response.statusText);
  return body;
}

async function guarded(work) {
  at("problem").textContent = "";
  try { await work(); } catch (error) { at("problem").textContent = String(error.message ?? error); }
}

async function find(after) {
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(at("filter"))) if (value) query.set(name, value);
  if (after) query.set("after", after); else at("instances").replaceChildren();
  const page = await read("/v1/instances?" + query);
  for (const one of page.items) {
    const cells = [one.component, one.id, one.status, one.step, new Date(one.updatedAt).toLocaleString(), one.failure];
    at("instances").append(row(cells, one.status, () => guarded(() => show(one.component, one.id))));
  }
  next = page.next;
  at("more").hidden = next === null;
  at("empty").hidden = at("instances").children.length > 0;
}

async function show(component, id) {
  const base = `/v1/${encodeURIComponent(component)}/${encodeURIComponent(id)}/ankka:`;
  const [lifecycle, journal] = await Promise.all([read(base + "lifecycle"), read(base + "journal?limit=1000")]);
  at("one").hidden = false;
  at("name").textContent = `${component} / ${id}`;
  at("lifecycle").replaceChildren();
  for (const [name, value] of Object.entries(lifecycle)) {
    if (value === null || value === false) continue;
    const term = document.createElement("dt"), description = document.createElement("dd");
    term.textContent = name;
    description.textContent = typeof value === "object" ? JSON.stringify(value) : value;
    at("lifecycle").append(term, description);
  }
  at("timeline").replaceChildren(...journal.items.map((item) =>
    row([item.sequence, new Date(item.at).toLocaleString(), item.type, item.step, item.attempt, JSON.stringify(item.detail)])));
  at("one").scrollIntoView({ behavior: "smooth" });
}

at("filter").addEventListener("submit", (event) => { event.preventDefault(); guarded(() => find(null)); });
at("more").addEventListener("click", () => guarded(() => find(next)));
guarded(() => find(null));
