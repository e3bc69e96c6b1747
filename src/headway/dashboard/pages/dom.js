// Elements made of values. Text goes in as text: a query named <script> is a name.

const SVG = "http://www.w3.org/2000/svg";

export function el(tag, given = {}, ...children) {
  return fill(document.createElement(tag), given, children);
}

export function svg(tag, given = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), given, children);
}

function fill(node, given, children) {
  for (const [key, value] of Object.entries(given)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "text") node.textContent = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

export function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function clear(node, ...children) {
  node.replaceChildren(...children.flat().filter(Boolean));
  return node;
}

// A place of its own for each name: stable, and the neighbours differ.
export function hue(name) {
  let sum = 2166136261;
  for (let i = 0; i < name.length; i += 1) sum = Math.imul(sum ^ name.charCodeAt(i), 16777619);
  return ((sum >>> 0) * 137.508) % 360;
}

export async function ask(path, given = {}) {
  const query = new URLSearchParams(Object.entries(given).filter(([, v]) => v !== null && v !== undefined && v !== ""));
  const answer = await fetch(`/api/${path}?${query}`, { headers: { accept: "application/json" } });
  const text = await answer.text();
  let told;
  try { told = JSON.parse(text); } catch { told = { error: text.slice(0, 200) }; }
  if (!answer.ok) throw new Error(told.error || `${answer.status}`);
  return told;
}

const tip = () => document.getElementById("tip");

export function showTip(x, y, lines) {
  const box = tip();
  clear(box, lines.map(([label, value]) => (value === undefined ? el("b", { text: label })
    : el("div", {}, el("span", { text: label }), el("em", { text: value })))));
  box.hidden = false;
  const size = box.getBoundingClientRect();
  box.style.left = `${Math.max(8, Math.min(x + 14, innerWidth - size.width - 8))}px`;
  box.style.top = `${Math.max(8, y + size.height + 24 > innerHeight ? y - size.height - 14 : y + 18)}px`;
}

export function hideTip() {
  tip().hidden = true;
}
