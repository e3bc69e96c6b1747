// The fleet: nodes, what they are expected to use as rings, and how queries moved.

import { ask, clear, el, hideTip, put, showTip, svg } from "/dom.js";
import { now, onNews } from "/state.js";
import { clock, count, lasting, percent } from "/words.js";

export function fleetPage(place, { given }) {
  let told = null, before = Number(given.get("before")) || null, busy = false, chosen = 0;
  const when = el("b"), nodes = el("div", { class: "nodes" }), moves = el("ol", { class: "decisions" }), notes = el("ul", { class: "notes" });
  const button = (text, title, act) => el("button", { type: "button", class: "chip", text, title, onclick: act });
  place.append(el("div", { class: "bar" }, el("span", {}, "As the orchestrator saw it at ", when), el("div", { class: "chips" }, button("‹ earlier", "[", () => shift(-1)), button("newest", "]", () => shift(1)))), nodes,
    el("section", { class: "card wide" }, el("h2", { text: "Decisions about nodes" }), moves), el("section", { class: "card wide" }, el("h2", { text: "What happened" }), notes));

  async function load() {
    if (busy) return;
    busy = true;
    try { told = await ask("fleet", { before }); draw(); } catch (error) { clear(nodes, el("p", { class: "trouble", text: error.message })); }
    busy = false;
  }
  function shift(by) {
    if (by > 0) before = null;
    else if (told && told.moves.length > 1) before = (told.moves.find((m) => m.line < told.line) || told.moves[0]).line - (before === null ? 0 : 1);
    load();
  }

  function draw() {
    if (told === null) return;
    put(when, told.at === null ? "–" : clock(told.at));
    const most = Math.max(0.25, ...told.nodes.flatMap((n) => n.ring.values.map((v) => v / n.cores)));
    clear(nodes, told.nodes.map((n) => node(n, most)));
    if (!told.nodes.length) clear(nodes, el("p", { class: "none", text: "The orchestrator has decided nothing yet." }));
    chosen = Math.max(0, Math.min(told.moves.length - 1, chosen));
    clear(moves, told.moves.map((m, i) => el("li", { class: i === chosen ? "chosen" : "", "data-line": m.line, "data-query": m.query, onclick: () => { chosen = i; draw(); } }, el("time", { text: clock(m.at) }), el("span", { class: `badge m-${m.kind}`, text: m.kind }),
      el("div", { class: "what" }, el("b", { text: m.query }), el("span", { class: "quiet", text: m.kind === "move" ? ` ${m.source} → ${m.target}` : m.kind === "start" ? ` → ${m.target}` : " stays" }), el("p", { text: m.because }),
        m.expected ? el("p", { class: "effect", text: `→ expected: ${percent(m.expected.reduction, 1)} less interference, ${percent(m.expected.threshold)} was wanted` }) : null), el("small", { class: "quiet", text: m.receipt }))));
    clear(notes, told.notes.map((n) => el("li", {}, el("time", { text: clock(n.at) }), el("b", { text: n.query }), el("span", { text: n.text }))));
  }

  function node(n, most) {
    const flags = [n.ready ? "" : "takes no queries", n.moving ? "moves something" : "", n.cooling_until && n.cooling_until > now() ? `rests for ${lasting(n.cooling_until - now())}` : ""].filter(Boolean);
    const busiest = Math.max(1e-9, ...n.computations.map((c) => c.use));
    return el("article", { class: n.ready ? "card node" : "card node out" }, el("header", {}, el("b", { text: n.name }), el("small", { text: flags.join(", ") || "ready" })), rings(n, most),
      el("dl", { class: "facts" }, [["load per core", `${n.load.toFixed(2)}, ${percent(n.own_load)} its own`], ["queries", count(n.queries)], ["cores", count(n.cores)], ["bandwidth", percent(n.bandwidth)]].map(([k, v]) => el("div", {}, el("dt", { text: k }), el("dd", { text: v })))),
      n.computations.length ? el("ul", { class: "uses" }, n.computations.slice(0, 8).map((c) => { const bar = el("i"); bar.style.width = `${(c.use / busiest) * 100}%`; return el("li", {}, bar, el("span", { text: c.query }), el("em", { text: c.use.toFixed(2) })); })) : null);
  }
  const stop = onNews(() => { if (before === null) load(); });
  load();
  return { draw, shift, leave: stop,
    open: () => { const move = told && told.moves[chosen]; if (move) { before = move.line; chosen = 0; load(); } },
    move: (by) => { if (!told) return; chosen += by; draw(); moves.children[chosen]?.scrollIntoView({ block: "nearest" }); } };
}

// A prediction ring as rings: the innermost looks ahead a window at a time, the outer ones further and coarser.
function rings(n, most) {
  const size = 220, middle = size / 2, { lengths_ms: lengths, windows, values } = n.ring, root = svg("svg", { class: "rings", viewBox: `0 0 ${size} ${size}`, role: "img", "aria-label": `What ${n.name} is expected to use` });
  const inner = 40, room = (middle - 6 - inner) / lengths.length;
  let starts = 0;
  lengths.forEach((length, r) => {
    const low = inner + r * room + 1.5, high = inner + (r + 1) * room - 1.5;
    for (let w = 0; w < windows; w += 1) {
      const value = values[r * windows + w] / n.cores, a = (w / windows) * 2 * Math.PI - Math.PI / 2, b = ((w + 1) / windows) * 2 * Math.PI - Math.PI / 2 - 0.015;
      const at = (rad, ang) => `${(middle + rad * Math.cos(ang)).toFixed(2)} ${(middle + rad * Math.sin(ang)).toFixed(2)}`;
      const from = starts + w * length, cell = svg("path", { class: "cell", d: `M${at(low, a)}L${at(high, a)}A${high} ${high} 0 0 1 ${at(high, b)}L${at(low, b)}A${low} ${low} 0 0 0 ${at(low, a)}z` });
      cell.style.fillOpacity = (0.06 + 0.94 * Math.min(1, value / most)).toFixed(3);
      cell.addEventListener("pointermove", (event) => showTip(event.clientX, event.clientY, [[`in ${lasting(from)} to ${lasting(from + length)}`], ["expected use", (value * n.cores).toFixed(2)]]));
      cell.addEventListener("pointerleave", hideTip);
      root.append(cell);
    }
    starts += windows * length;
  });
  const mean = values.slice(0, windows).reduce((a, b) => a + b, 0) / Math.max(1, windows);
  root.append(svg("text", { class: "core", x: middle, y: middle - 2, "text-anchor": "middle", text: mean.toFixed(2) }), svg("text", { class: "axis", x: middle, y: middle + 15, "text-anchor": "middle", text: "soon" }));
  return root;
}
