// Micro-batches over time, slot by slot, with the moments at which their windows were due.

import { batchLine } from "/batch.js";
import { timeTicks } from "/chart.js";
import { ask, clear, el, hideTip, hue, put, showTip } from "/dom.js";
import { known, now, onNews } from "/state.js";
import { clock, count, day, hour, lasting } from "/words.js";

const TOP = 34, LEFT = 60;

export function timelinePage(place, { given }) {
  let told = null, span = Number(given.get("span")) || 20000, end = Number(given.get("to")) || null, busy = false, hits = [], pending = false, chosen = null;
  const canvas = el("canvas", { class: "gantt", tabindex: "0", role: "img", "aria-label": "Batches over time" });
  const filter = el("input", { class: "filter", type: "search", placeholder: "Mark a query  ( / )", "aria-label": "Mark a query", oninput: () => draw() });
  const live = el("button", { type: "button", class: "chip on", text: "live", onclick: () => { end = null; load(); } });
  const button = (text, title, act) => el("button", { type: "button", class: "chip", text, title, onclick: act });
  const where = el("span", { class: "quiet" }), box = el("div", { class: "card wide ganttbox" }, canvas), legend = el("p", { class: "legend quiet" },
    el("i", { class: "key due" }), "due  ", el("i", { class: "key wait" }), "from due until it came out  ", el("i", { class: "key over" }), "later than the target");
  const picked = el("section", { class: "card wide picked", hidden: true, "aria-live": "polite" });
  const key = (bar) => `${bar.query}#${bar.batch}`;
  const page = (bar) => `#/query/${encodeURIComponent(bar.query)}${bar.ends.length ? `?window=${bar.ends[0]}` : ""}`;
  place.append(el("div", { class: "bar" }, filter, el("div", { class: "chips" }, live, button("‹", "Earlier ( [ )", () => shift(-1)), button("›", "Later ( ] )", () => shift(1)),
    button("−", "More time", () => zoom(2)), button("+", "Less time", () => zoom(0.5)), where)), box, legend, picked);

  async function load() {
    if (busy) { pending = true; return; }
    busy = true;
    try { told = await ask("timeline", end === null ? { since: Math.round(now() - span), upto: Math.round(now()) } : { since: Math.round(end - span), upto: Math.round(end) }); draw(); } catch (error) { put(where, error.message); }
    busy = false;
    if (pending) { pending = false; load(); }
  }
  function shift(by) {
    end = Math.min(now(), (end ?? now()) + by * span * 0.5);
    if (told && told.first !== null) end = Math.max(end, told.first + span * 0.2);
    if (by > 0 && end >= now() - 500) end = null;
    load();
  }
  function zoom(by) { span = Math.max(500, Math.min(3600000, span * by)); load(); }

  function draw() {
    if (told === null) return;
    const LANE = Math.max(told.lanes, told.slots || 1) > 6 ? 34 : 58;
    live.classList.toggle("on", end === null);
    put(where, `${day(told.from)} ${clock(told.from, span < 60000)} to ${clock(told.to, span < 60000)}${told.cut ? " (too many batches: the first are shown)" : ""}`);
    const lanes = Math.max(told.lanes, told.slots || 1), width = Math.max(280, box.clientWidth - 24), height = TOP + lanes * LANE + 14, scale = devicePixelRatio || 1;
    canvas.width = width * scale; canvas.height = height * scale;
    canvas.style.width = `${width}px`; canvas.style.height = `${height}px`;
    const c = canvas.getContext("2d"), css = getComputedStyle(document.documentElement), ink = (name) => css.getPropertyValue(name).trim();
    c.scale(scale, scale);
    c.clearRect(0, 0, width, height);
    const px = (at) => LEFT + ((at - told.from) / (told.to - told.from)) * (width - LEFT - 8);
    c.font = "12px system-ui, sans-serif";
    c.textBaseline = "middle";
    for (const at of timeTicks(told.from, told.to, Math.floor(width / 100))) {
      c.fillStyle = ink("--grid"); c.fillRect(px(at), TOP - 6, 1, height);
      c.fillStyle = ink("--quiet"); c.textAlign = "center"; c.fillText(clock(at, (told.to - told.from) < 3000), px(at), 14);
    }
    for (let lane = 0; lane < lanes; lane += 1) {
      c.fillStyle = lane % 2 ? ink("--card") : ink("--stripe"); c.fillRect(LEFT, TOP + lane * LANE, width - LEFT - 8, LANE);
      c.fillStyle = ink("--quiet"); c.textAlign = "right"; c.fillText(`slot ${lane + 1}`, LEFT - 8, TOP + lane * LANE + LANE / 2);
    }
    hits = [];
    const wanted = filter.value.trim().toLowerCase(), dark = ink("--scheme") === "dark";
    c.save(); c.beginPath(); c.rect(LEFT, TOP - 8, width - LEFT - 8, height); c.clip();
    for (const bar of told.bars) {
      const x = px(bar.began), w = Math.max(2, px(bar.at) - x), y = TOP + bar.lane * LANE + 5, h = LANE - (LANE > 40 ? 22 : 12), marked = wanted && bar.query.toLowerCase().includes(wanted);
      c.globalAlpha = wanted && !marked ? 0.18 : 1;
      c.fillStyle = `hsl(${hue(bar.query)} ${dark ? "48% 42%" : "58% 72%"})`;
      c.beginPath(); c.roundRect(x, y, w, h, Math.min(4, w / 2)); c.fill();
      const over = bar.worst_ms !== null && bar.worst_ms > told.target_ms;
      if (over) { c.strokeStyle = ink("--bad"); c.lineWidth = 2; c.stroke(); }
      if (w > 34) { c.fillStyle = dark ? "#fff" : "#1b2430"; c.textAlign = "left"; c.save(); c.beginPath(); c.rect(x, y, w - 4, h); c.clip(); c.fillText(bar.query, x + 6, y + h / 2 + 0.5); c.restore(); }
      if (chosen === key(bar)) { c.strokeStyle = ink("--accent"); c.lineWidth = 3; c.stroke(); }
      hits.push([x, y, w, h, bar]);
    }
    for (const bar of told.bars) {
      if (wanted && !bar.query.toLowerCase().includes(wanted)) continue;
      const y = TOP + bar.lane * LANE + LANE - 5 - (LANE > 40 ? (bar.batch % 3) * 4 : 0);
      c.globalAlpha = 1;
      for (const due of bar.due.slice(0, 8)) {
        c.strokeStyle = bar.at - due > told.target_ms ? ink("--bad") : ink("--accent"); c.lineWidth = 1.5;
        c.beginPath(); c.moveTo(px(due), y); c.lineTo(px(bar.at), y); c.stroke();
        c.fillStyle = c.strokeStyle; c.beginPath(); c.moveTo(px(due), y - 4); c.lineTo(px(due) + 4, y); c.lineTo(px(due), y + 4); c.lineTo(px(due) - 4, y); c.fill();
      }
    }
    c.restore();
    if (!told.bars.length) { c.fillStyle = ink("--quiet"); c.textAlign = "center"; c.fillText("No batch ran here.", width / 2, TOP + LANE / 2); }
    canvas.dataset.bars = String(told.bars.length);
    canvas.dataset.chosen = chosen || "";
  }

  function choose(bar) { // what is looked at stands still
    if (end === null) end = told.to;
    chosen = key(bar);
    picked.hidden = false;
    clear(picked, batchLine(bar, [el("a", { class: "button", href: page(bar), text: bar.ends.length ? "why its windows came out then" : "the page of its query" })]));
    draw();
  }
  function move(by) {
    if (told === null || !told.bars.length) return;
    const wanted = filter.value.trim().toLowerCase(), bars = told.bars.filter((b) => b.query.toLowerCase().includes(wanted));
    if (!bars.length) return;
    const before = bars.findIndex((b) => key(b) === chosen);
    choose(bars[before < 0 ? (by > 0 ? 0 : bars.length - 1) : Math.max(0, Math.min(bars.length - 1, before + by))]);
  }
  const at = (event) => { const b = canvas.getBoundingClientRect(), x = event.clientX - b.left, y = event.clientY - b.top; return hits.find(([l, t, w, h]) => x >= l - 1 && x <= l + w + 1 && y >= t && y <= t + h + 6); };
  canvas.addEventListener("pointermove", (event) => {
    const hit = at(event);
    canvas.style.cursor = hit ? "pointer" : "default";
    if (!hit) { hideTip(); return; }
    const bar = hit[4];
    showTip(event.clientX, event.clientY, [[`${bar.query}, batch ${bar.batch}`], ["began", clock(bar.began)], ["took", lasting(bar.took_ms)], ["rows", count(bar.rows)],
      ...(bar.ends.length ? [["windows", bar.ends.slice(0, 4).map(hour).join(", ")], ["after due", lasting(bar.worst_ms)]] : [["windows", "none came out"]])]);
  });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("click", (event) => { const hit = at(event); if (hit) choose(hit[4]); });
  canvas.addEventListener("dblclick", (event) => { const hit = at(event); if (hit) location.hash = page(hit[4]); });
  canvas.addEventListener("wheel", (event) => { if (event.ctrlKey || event.shiftKey || event.metaKey) { event.preventDefault(); zoom(event.deltaY > 0 ? 1.25 : 0.8); } }, { passive: false });
  const stop = onNews(() => { if (end === null) load(); });
  const tick = setInterval(() => { if (end === null && known.head && known.head.live) load(); }, 1000);
  load();
  return { draw, shift, move, open: () => { const bar = told && told.bars.find((b) => key(b) === chosen); if (bar) location.hash = page(bar); }, leave: () => { stop(); clearInterval(tick); } };
}
