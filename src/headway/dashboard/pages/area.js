// The wide area: sites on a map drawn by their latencies, links, the plan that runs, and what was decided about it.

import { ask, clear, el, hideTip, put, showTip, svg } from "/dom.js";
import { onNews } from "/state.js";
import { bytes, clock, count, lasting, percent } from "/words.js";

const rate = (b) => (b === null ? "–" : b < 1 ? "0 B/s" : `${bytes(b)}/s`);
const kindOf = (fill) => (fill === null || fill > 1 ? "bad" : fill > 0.8 ? "warn" : "good");
const tasks = (of) => of.map((s) => (s.tasks > 1 ? `${s.site} × ${s.tasks}` : s.site)).join(", ");
const usd = (v) => (v === null ? "–" : `$${v.toFixed(v < 1 ? 3 : 2)} /h`);

export function areaPage(place, { given }) {
  let told = null, before = Number(given.get("before")) || null, pipeline = given.get("pipeline"), busy = false, chosen = 0, past = false;
  const when = el("b"), said = el("span"), pipelines = el("div", { class: "chips", role: "group", "aria-label": "Pipelines" });
  const facts = el("dl", { class: "facts" }), turns = el("div", { class: "chips turns", role: "group", "aria-label": "Before or after" }), map = el("div", { class: "map" }), plan = el("div", { class: "scroll" }), links = el("div", { class: "scroll" }), list = el("ol", { class: "decisions" });
  const button = (text, title, act) => el("button", { type: "button", class: "chip", text, title, onclick: act });
  const card = (head, how, ...inner) => el("section", { class: "card wide" }, el("figcaption", {}, el("b", { text: head }), el("small", { text: how })), inner);
  place.append(el("div", { class: "bar" }, el("span", {}, "As its controller saw it at ", when), el("div", { class: "chips" }, button("‹ earlier", "[", () => shift(-1)), button("later ›", "]", () => shift(1)), button("newest", "", () => go(null))), pipelines),
    el("p", { class: "lead" }, said), facts,
    card("Sites and links", "near on the map is near on the network; a link is as wide as what goes over it, and a ring is full as a site's slots are", turns, map),
    card("The plan", "stages from the sources to the sink: where they run, and the rows a second that come to them", plan),
    card("Decisions", "choose one to see the area as it was then", list),
    card("Links in use", "the fullest first", links));

  async function load() {
    if (busy) return;
    busy = true;
    try { told = await ask("area", { pipeline, before }); draw(); } catch (error) { clear(map, el("p", { class: "trouble", text: error.message })); }
    busy = false;
  }
  function go(line) { before = line; chosen = 0; past = false; load(); }
  function shift(by) {
    if (told === null || !told.decisions.length) return;
    if (by < 0) { if (told.decisions[1]) go(told.decisions[1].line); } else if (before !== null) later();
  }
  async function later() { // the next one after what is shown
    const all = (await ask("area", { pipeline })).decisions.map((d) => d.line).reverse();
    const next = all.find((line) => line > told.line);
    go(next === undefined || next === all.at(-1) ? null : next);
  }

  function draw() {
    if (told === null) return;
    put(when, told.at === null ? "–" : clock(told.at, false));
    clear(pipelines, told.pipelines.length > 1 ? told.pipelines.map((name) => el("button", { type: "button", class: name === told.pipeline ? "chip on" : "chip", text: name, onclick: () => { pipeline = name; go(null); } })) : []);
    const newest = told.decisions[0];
    if (!told.sites.length) { put(said, "No controller of a wide area has decided anything here yet."); [facts, turns, map, plan, links, list].forEach((box) => clear(box)); return; }
    clear(said, el("b", { text: `${told.pipeline}: ${newest.words}` }), `, because ${newest.because}`);
    const shown = past && told.was ? { ...told, ...told.was } : told, stages = shown.stages.filter((s) => s.kind !== "source"), fullest = shown.links[0];
    clear(turns, told.was ? [["as it was", true], ["as decided", false]].map(([text, was]) => el("button", { type: "button", class: was === past ? "chip on" : "chip", text, onclick: () => { past = was; draw(); } })) : []);
    const all = [["plan", shown.plan], ["sites used", `${shown.sites.filter((s) => s.taken || s.sources.length).length} of ${shown.sites.length}`], ["tasks", count(shown.sites.reduce((a, s) => a + s.taken, 0))],
      ["fullest link", fullest ? `${fullest.source} → ${fullest.target}, ${fullest.fill === null ? "down" : percent(fullest.fill)}` : "none"], ["rows that wait", count(stages.reduce((a, s) => a + (s.waiting || 0), 0))],
      ["longest way", lasting(shown.network_ms)], ["bytes between sites", rate(shown.links.reduce((a, l) => a + l.bytes_per_s, 0))], ["they cost", usd(shown.usd_h)], ["by", newest.policy]];
    clear(facts, all.map(([k, v]) => el("div", {}, el("dt", { text: k }), el("dd", { text: v }))));
    drawMap(map, shown);
    drawPlan(plan, shown);
    drawLinks(shown);
    drawDecisions();
  }

  function drawLinks(shown) {
    const heads = ["from", "to", "needs", "bandwidth", "full", "latency", "price", "measured"];
    clear(links, el("table", { class: "grid" }, el("thead", {}, el("tr", {}, heads.map((h, i) => el("th", { class: i > 1 ? "n" : "", text: h })))),
      el("tbody", {}, shown.links.map((l) => el("tr", {}, el("td", { text: l.source }), el("td", { text: l.target }), el("td", { class: "n", text: rate(l.bytes_per_s) }), el("td", { class: "n", text: rate(l.bandwidth) }),
        el("td", { class: `n ${kindOf(l.fill)}`, text: l.fill === null ? "down" : percent(l.fill) }), el("td", { class: "n", text: lasting(l.latency_ms) }), el("td", { class: "n", text: `$${l.usd_per_gb.toFixed(3)} /GB` }), el("td", { class: "n", text: l.age_ms === null ? "never" : `${lasting(l.age_ms)} before` }))))));
    if (!shown.links.length) clear(links, el("p", { class: "none", text: "Nothing goes from site to site." }));
  }

  function drawDecisions() {
    chosen = Math.min(chosen, told.decisions.length - 1);
    clear(list, told.decisions.map((d, i) => el("li", { class: i === chosen ? "chosen" : "", "data-line": d.line, onclick: () => go(d.line) }, el("time", { text: clock(d.at, false) }), el("span", { class: `badge a-${d.kind}`, text: d.kind }),
      el("div", { class: "what" }, el("b", { text: d.words }), el("span", { class: "quiet", text: ` ${d.receipt}` }), el("p", { text: d.because }),
        d.moves.map((m) => el("p", { class: "quiet", text: `state of ${m.stage}: ${m.megabytes.toFixed(1)} MB from ${m.source} to ${m.target} in ${m.seconds.toFixed(1)} s` })),
        d.expected ? el("p", { class: "effect", text: `expected: ${d.expected.stage} processes ${count(d.expected.at_least)} rows/s by ${clock(d.expected.by, false)}, after ${d.expected.takes_s.toFixed(1)} s out of service, for ${usd(d.expected.usd_h)}` }) : null,
        d.effect ? el("p", { class: "effect", text: `→ ${d.effect}` }) : null), el("small", { class: "quiet", text: d.policy }))));
  }

  const stop = onNews(() => { if (before === null) load(); });
  load();
  return { draw, shift, leave: stop, open: () => told && told.decisions[chosen] && go(told.decisions[chosen].line),
    move: (by) => { if (!told) return; chosen = Math.max(0, Math.min(told.decisions.length - 1, chosen + by)); drawDecisions(); list.children[chosen]?.scrollIntoView({ block: "nearest" }); } };
}

function drawMap(place, told) {
  const width = Math.max(280, place.clientWidth), tall = width < 620, height = tall ? Math.min(640, width * 1.5) : Math.min(560, Math.max(320, width * 0.46));
  const pad = { x: tall ? 46 : 84, y: 40 }, root = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `Sites and links of ${told.pipeline}` });
  const at = new Map(told.sites.map((s) => [s.name, { x: pad.x + (tall ? s.y : s.x) * (width - 2 * pad.x), y: pad.y + (tall ? s.x : s.y) * (height - 2 * pad.y) }]));
  const most = Math.max(1, ...told.links.map((l) => l.bytes_per_s)), radius = (s) => (s.taken || s.sources.length ? (tall ? 12 : 15) : tall ? 6 : 9);
  const size = new Map(told.sites.map((s) => [s.name, radius(s)]));
  for (const link of [...told.links].reverse()) { // the fullest last, on top
    const a = at.get(link.source), b = at.get(link.target);
    if (!a || !b) continue;
    const dx = b.x - a.x, dy = b.y - a.y, far = Math.hypot(dx, dy) || 1, bend = Math.min(46, far * 0.16);
    const m = { x: (a.x + b.x) / 2 - (dy / far) * bend, y: (a.y + b.y) / 2 + (dx / far) * bend };
    const out = towards(a, m, size.get(link.source) + 2), into = towards(b, m, size.get(link.target) + 8);
    const wide = 1.4 + 5 * Math.sqrt(link.bytes_per_s / most), kind = kindOf(link.fill), d = `M${f(out.x)} ${f(out.y)}Q${f(m.x)} ${f(m.y)} ${f(into.x)} ${f(into.y)}`;
    const line = svg("path", { class: `link ${kind}${link.fill === null ? " down" : ""}`, d, "data-link": `${link.source} ${link.target}` }), touch = svg("path", { class: "touch", d }), tip = towards(b, m, size.get(link.target) + 1);
    line.style.strokeWidth = wide.toFixed(1);
    const angle = Math.atan2(tip.y - into.y, tip.x - into.x), w = 3 + wide * 0.75, l = 8;
    const head = svg("path", { class: `arrow ${kind}`, d: `M${f(tip.x)} ${f(tip.y)}L${f(tip.x - l * Math.cos(angle) - w * Math.sin(angle))} ${f(tip.y - l * Math.sin(angle) + w * Math.cos(angle))}L${f(tip.x - l * Math.cos(angle) + w * Math.sin(angle))} ${f(tip.y - l * Math.sin(angle) - w * Math.cos(angle))}z` });
    touch.addEventListener("pointermove", (event) => showTip(event.clientX, event.clientY, [[`${link.source} → ${link.target}`], ["needs", rate(link.bytes_per_s)], ["there is", rate(link.bandwidth)], ["full", link.fill === null ? "it is down" : percent(link.fill)], ["latency", lasting(link.latency_ms)]]));
    touch.addEventListener("pointerleave", hideTip);
    root.append(line, head, touch);
  }
  for (const site of told.sites) {
    const p = at.get(site.name), r = size.get(site.name), used = site.taken > 0, share = site.slots ? Math.min(1, site.taken / site.slots) : used ? 1 : 0, round = 2 * Math.PI * r;
    const node = svg("g", { class: `site${used ? " used" : ""}${site.slots ? "" : " off"}`, "data-site": site.name }, svg("circle", { class: "disc", cx: f(p.x), cy: f(p.y), r }), svg("circle", { class: "slots", cx: f(p.x), cy: f(p.y), r }));
    if (share) node.append(svg("circle", { class: "taken", cx: f(p.x), cy: f(p.y), r, "stroke-dasharray": `${f(share * round)} ${f(round)}`, transform: `rotate(-90 ${f(p.x)} ${f(p.y)})` }));
    if (r > 10) node.append(svg("text", { class: "inside", x: f(p.x), y: f(p.y + 4), "text-anchor": "middle", text: used ? String(site.taken) : "↗" }));
    if (tall && r < 10) { node.append(svg("title", { text: site.name })); root.append(node); continue; } // no room for its name
    const edge = p.x < 60 ? "start" : p.x > width - 60 ? "end" : "middle";
    node.append(svg("text", { class: "name", x: f(edge === "start" ? p.x - r : edge === "end" ? p.x + r : p.x), y: f(p.y + r + 13), "text-anchor": edge, text: site.name }));
    node.addEventListener("pointermove", (event) => showTip(event.clientX, event.clientY, [[site.name], ["slots", site.slots ? `${site.taken} of ${site.slots} taken` : "none: it is down"],
      ...(site.sources.length ? [["rows from", site.sources.join(", ")]] : []), ...site.stages.map((s) => ["runs", s.tasks > 1 ? `${s.stage} × ${s.tasks}` : s.stage])]));
    node.addEventListener("pointerleave", hideTip);
    root.append(node);
  }
  clear(place, root);
}

// Boxes in columns: as far to the right as its longest way from a source.
function drawPlan(place, told) {
  const depth = new Map(), changed = new Set(told.changed || []);
  for (const s of told.stages) depth.set(s.name, Math.max(0, ...s.inputs.map((i) => (depth.get(i) ?? 0) + 1)));
  const columns = [];
  for (const s of told.stages) (columns[depth.get(s.name)] ||= []).push(s);
  const W = 214, H = 62, GX = 56, GY = 12, width = columns.length * (W + GX) - GX + 8, height = Math.max(...columns.map((c) => c.length)) * (H + GY);
  const root = svg("svg", { class: "plan", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `The plan ${told.plan}` }), at = new Map();
  columns.forEach((of, c) => of.forEach((s, r) => at.set(s.name, { x: 4 + c * (W + GX), y: 2 + (r + 0.5) * (height / of.length) - H / 2 })));
  for (const s of told.stages) for (const input of s.inputs) {
    const a = at.get(input), b = at.get(s.name);
    if (a && b) root.append(svg("path", { class: "flow", d: `M${a.x + W} ${f(a.y + H / 2)}C${a.x + W + GX / 2} ${f(a.y + H / 2)} ${b.x - GX / 2} ${f(b.y + H / 2)} ${b.x} ${f(b.y + H / 2)}` }));
  }
  for (const s of told.stages) {
    const p = at.get(s.name), behind = s.strained_ms > 0, cut = (text, n) => (text.length > n ? `${text.slice(0, n - 1)}…` : text);
    const rows = s.kind === "source" ? `${count(s.emitted)} rows/s` : `${count(s.processed)} of ${count(s.arrived)} rows/s${s.waiting > 0 ? `, ${count(s.waiting)} wait` : ""}`;
    const box = svg("g", { class: `stage${behind ? " behind" : ""}${changed.has(s.name) ? " changed" : ""}` }, svg("rect", { x: p.x, y: f(p.y), width: W, height: H, rx: 9 }),
      svg("text", { class: "name", x: p.x + 11, y: f(p.y + 19), text: cut(s.name, 29) }), svg("text", { class: "axis", x: p.x + 11, y: f(p.y + 36), text: cut(`${s.kind} · ${tasks(s.sites)}`, 36) }), svg("text", { class: "axis", x: p.x + 11, y: f(p.y + 52), text: cut(rows, 36) }));
    box.addEventListener("pointermove", (event) => showTip(event.clientX, event.clientY, [[s.name], ["kind", s.kind], ["runs at", tasks(s.sites) || "–"], ["arrive", `${count(s.arrived)} rows/s`], ["processed", `${count(s.processed)} rows/s`], ["sent on", `${count(s.emitted)} rows/s`],
      ["wait", count(s.waiting)], ["state", s.state_mb ? `${s.state_mb.toFixed(1)} MB` : "none"], ...(behind ? [["behind for", lasting(s.strained_ms)]] : []), ...(changed.has(s.name) ? [["", "this decision places it anew"]] : [])]));
    box.addEventListener("pointerleave", hideTip);
    root.append(box);
  }
  clear(place, root);
}

const f = (v) => Number(v).toFixed(1);
const towards = (from, to, by) => { const dx = to.x - from.x, dy = to.y - from.y, far = Math.hypot(dx, dy) || 1; return { x: from.x + (dx / far) * by, y: from.y + (dy / far) * by }; };
