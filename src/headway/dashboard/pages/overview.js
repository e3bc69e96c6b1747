// All queries at a glance: a table that holds thousands, of which only those in sight are drawn.

import { clear, el, hideTip, put, showTip, svg } from "/dom.js";
import { known, now, onNews, togglePin } from "/state.js";
import { clock, count, hour, lasting, percent } from "/words.js";

const slackOf = (row, at) => (row.begin_by === null ? Infinity : row.begin_by - at);
const lagOf = (row, at) => (row.watermark === null ? Infinity : at - row.watermark);
const TROUBLED = ["failed", "restarting", "put aside"];

// key, head, title, value to sort by, greatest first
const COLUMNS = [
  ["name", "query", "By name", (r) => r.name, false],
  ["slack", "slack", "Time left until its next batch must begin", slackOf, false],
  ["deadline", "next window", "The end of its next window, and when that is due", (r) => r.due ?? Infinity, false],
  ["latency", "latency", "Of its newest windows, after they were due; the line is the target", (r) => r.last_ms ?? -1, true],
  ["p99", "p99", "99 of 100 of its last windows were out by then", (r) => r.p99_ms ?? -1, true],
  ["overdue", "overdue", "Windows that came out later than the target", (r) => r.overdue, true],
  ["lag", "watermark", "How far the watermark is behind the clock", lagOf, true],
  ["backlog", "waiting", "Rows that wait to be read", (r) => r.backlog ?? -1, true],
  ["late", "late", "Rows that came after their window was closed", (r) => r.late, true],
  ["cost", "batch", "How long its last batch took", (r) => r.took_ms ?? -1, true],
  ["why", "last decision", "The last decision about it, and why", (r) => r.decided_at ?? 0, true],
];

export function overviewPage(place) {
  const saved = JSON.parse(sessionStorage.getItem("headway.overview") || "{}");
  const view = { sort: "urgency", down: false, filter: "", state: "", at: 0, chosen: null, ...saved };
  let order = [], asked = false, height = 46;
  const slots = new Map();

  const filter = el("input", { class: "filter", type: "search", placeholder: "Filter by name or reason  ( / )", "aria-label": "Filter", value: view.filter,
    oninput: () => { view.filter = filter.value; draw(); } });
  const states = el("div", { class: "chips", role: "group", "aria-label": "States" });
  const tiles = el("div", { class: "tiles" });
  const heads = el("div", { class: "row heads", role: "row" });
  const inside = el("div", { class: "inside" });
  const scroller = el("div", { class: "scroller", tabindex: "0", role: "grid", "aria-label": "Queries", onscroll: () => draw() }, heads, inside);
  const none = el("p", { class: "none" });
  place.append(tiles, el("div", { class: "bar" }, filter, states), scroller, none);
  const urgent = el("button", { type: "button", class: "head c-pin", title: "Most urgent first", text: "⇅", onclick: () => by("urgency") });
  heads.append(urgent, ...COLUMNS.map(([key, text, title]) => el("button", { type: "button", class: `head c-${key}`, title, "data-column": key, text, onclick: () => by(key) })));

  function by(key) {
    if (view.sort === key) view.down = !view.down;
    else { view.sort = key; view.down = (COLUMNS.find(([name]) => name === key) || [])[4] || false; }
    scroller.scrollTop = 0;
    draw();
  }

  function arrange(at) {
    const words = view.filter.trim().toLowerCase();
    const fits = (r) => (!view.state || (view.state === "overdue" ? (r.last_ms ?? 0) > known.head.target_ms : r.state === view.state))
      && (!words || r.name.toLowerCase().includes(words) || r.because.toLowerCase().includes(words));
    const found = [...known.rows.values()].filter(fits);
    const column = COLUMNS.find(([key]) => key === view.sort);
    const value = column ? (r) => column[3](r, at) : (r) => (TROUBLED.includes(r.state) ? -1e15 : r.state === "ended" ? 1e15 : slackOf(r, at));
    const keyed = found.map((r) => [known.pins.has(r.name) ? 0 : 1, value(r), r.name, r]);
    const sign = view.down ? -1 : 1;
    keyed.sort((a, b) => a[0] - b[0] || (a[1] < b[1] ? -sign : a[1] > b[1] ? sign : 0) || (a[2] < b[2] ? -1 : 1));
    order = keyed.map((k) => k[3]);
  }

  function draw() {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      const began = performance.now();
      if (known.head !== null && scroller.isConnected) frame();
      document.documentElement.dataset.frameMs = (performance.now() - began).toFixed(1);
      document.documentElement.dataset.drawn = String(slots.size);
    });
  }

  function frame() {
    const at = now();
    arrange(at);
    summary(at);
    height = matchMedia("(max-width: 760px)").matches ? 92 : 46;
    inside.style.height = `${order.length * height}px`;
    const top = Math.max(0, scroller.scrollTop - heads.offsetHeight), first = Math.max(0, Math.floor(top / height) - 2);
    const last = Math.min(order.length, Math.ceil((top + scroller.clientHeight) / height) + 2);
    const used = new Set();
    for (let i = first; i < last; i += 1) {
      const slot = i % Math.max(1, last - first + 4);
      used.add(slot);
      let row = slots.get(slot);
      if (!row) { row = makeRow(); slots.set(slot, row); inside.append(row.node); }
      row.node.style.transform = `translateY(${i * height}px)`;
      fillRow(row, order[i], at);
    }
    for (const [slot, row] of slots) if (!used.has(slot)) { row.node.remove(); slots.delete(slot); }
    for (const head of heads.querySelectorAll("[data-column]")) {
      head.classList.toggle("by", head.dataset.column === view.sort);
      head.classList.toggle("down", view.down);
    }
    urgent.classList.toggle("by", view.sort === "urgency");
    none.hidden = order.length > 0;
    put(none, known.rows.size ? "No query fits the filter." : "No query has come yet.");
    sessionStorage.setItem("headway.overview", JSON.stringify(view));
  }

  function makeRow() {
    const cell = (key, ...inner) => el("div", { class: `cell c-${key}`, role: "gridcell" }, inner);
    const part = {};
    part.pin = el("button", { type: "button", class: "pin", title: "Pin (p)", "aria-label": "Pin", text: "☆", onclick: (event) => { event.stopPropagation(); togglePin(part.row.name); draw(); } });
    part.name = el("b"); part.state = el("span", { class: "badge" });
    part.slack = el("span"); part.deadline = el("span"); part.due = el("small");
    part.bars = spark(); part.last = el("span", { class: "num" }); part.p99 = el("span"); part.overdue = el("span");
    part.lag = el("span"); part.backlog = el("span"); part.late = el("span"); part.cost = el("span"); part.share = el("small");
    part.why = el("span"); part.when = el("small");
    part.node = el("div", { class: "row", role: "row", onclick: () => { view.chosen = part.row.name; open(); },
      onmousemove: (event) => tell(event, part.row), onmouseleave: hideTip },
    cell("pin", part.pin), cell("name", part.name, el("div", { class: "under" }, part.state, part.share)), cell("slack", part.slack),
    cell("deadline", part.deadline, part.due), cell("latency", part.bars.node, part.last), cell("p99", part.p99), cell("overdue", part.overdue),
    cell("lag", part.lag), cell("backlog", part.backlog), cell("late", part.late), cell("cost", part.cost), cell("why", part.why, part.when));
    return part;
  }

  function fillRow(part, row, at) {
    part.row = row;
    part.node.dataset.query = row.name;
    const slack = slackOf(row, at), lag = lagOf(row, at), target = known.head.target_ms, over = row.state === "ended" || row.state === "failed";
    part.node.classList.toggle("chosen", view.chosen === row.name);
    part.node.classList.toggle("over", over);
    const pinned = known.pins.has(row.name);
    put(part.pin, pinned ? "★" : "☆");
    part.pin.classList.toggle("on", pinned);
    put(part.name, row.name);
    put(part.share, row.share === null ? "" : `≈ ${percent(row.share)}`);
    put(part.state, row.state);
    part.state.className = `badge c-state s-${row.state.replaceAll(" ", "-")}`;
    put(part.slack, Number.isFinite(slack) && !over ? lasting(slack) : "–");
    part.slack.className = over ? "" : slack < -target ? "bad" : slack < 0 ? "warn" : "";
    put(part.deadline, row.deadline === null || over ? "–" : hour(row.deadline));
    put(part.due, row.due === null || over ? "" : row.due > at ? `due in ${lasting(row.due - at)}` : `due ${lasting(at - row.due)} ago`);
    part.bars.draw(row.latencies, target);
    put(part.last, lasting(row.last_ms));
    part.last.classList.toggle("bad", (row.last_ms ?? 0) > target);
    put(part.p99, lasting(row.p99_ms));
    part.p99.className = (row.p99_ms ?? 0) > target ? "bad" : "";
    put(part.overdue, row.windows ? `${count(row.overdue)}` : "–");
    part.overdue.className = row.overdue ? "warn" : "quiet";
    put(part.lag, Number.isFinite(lag) ? lasting(lag) : "–");
    put(part.backlog, count(row.backlog));
    put(part.late, count(row.late));
    part.late.className = row.late ? "warn" : "quiet";
    put(part.cost, lasting(row.took_ms));
    put(part.why, row.error || row.because || "–");
    part.why.classList.toggle("bad", Boolean(row.error));
    put(part.when, row.decided_at === null ? "" : clock(row.decided_at));
  }

  function tell(event, row) {
    if (!event.target.closest(".c-why, .c-latency, .c-cost")) { hideTip(); return; }
    showTip(event.clientX, event.clientY, [[row.name], ["decided", row.decided_at === null ? "–" : clock(row.decided_at)],
      ["why", row.because || "–"], ["it did", row.receipt || "–"], ["by", row.policy || "–"], ["batch costs", row.fixed_ms === null ? "–" : `${lasting(row.fixed_ms)} + ${(row.per_row_ms * 1000).toFixed(1)} µs a row`],
      ["rows", `${count(row.rows_per_s)} /s`], ["patience", lasting(row.patience_ms)]]);
  }

  function summary(at) {
    const rows = [...known.rows.values()], target = known.head.target_ms;
    const runs = rows.filter((r) => r.state !== "ended" && r.state !== "failed");
    const busy = rows.filter((r) => r.state === "in a batch").length, failed = rows.filter((r) => TROUBLED.includes(r.state)).length;
    const all = rows.flatMap((r) => r.latencies).sort((a, b) => a - b);
    const p = (share) => (all.length ? all[Math.min(all.length - 1, Math.floor(share * all.length))] : null);
    const least = runs.reduce((a, r) => (slackOf(r, at) < slackOf(a || { begin_by: null }, at) ? r : a), null);
    const windows = rows.reduce((a, r) => a + r.windows, 0), overdue = rows.reduce((a, r) => a + r.overdue, 0);
    const cost = known.head.decided_ms !== null && known.head.decisions ? `${(known.head.decided_ms / known.head.decisions).toFixed(2)} ms each` : "in the journal";
    const told = [["queries", count(runs.length), failed ? `${failed} in trouble` : `${rows.length - runs.length} ended`, failed ? "bad" : ""],
      ["in a batch", known.head.slots ? `${busy} / ${known.head.slots}` : `${busy}`, "of the slots", ""],
      ["latency, median", lasting(p(0.5)), `p99 ${lasting(p(0.99))}`, (p(0.99) ?? 0) > target ? "warn" : ""],
      ["on time", windows ? percent(1 - overdue / windows, overdue ? 1 : 0) : "–", `of ${count(windows)} windows`, overdue / windows > 0.05 ? "bad" : ""],
      ["least slack", least && Number.isFinite(slackOf(least, at)) ? lasting(slackOf(least, at)) : "–", least ? least.name : "", ""],
      ["late rows", count(rows.reduce((a, r) => a + r.late, 0)), `of ${count(rows.reduce((a, r) => a + r.rows, 0))}`, ""],
      ["decisions", count(known.head.decisions), cost, ""]];
    if (tiles.childElementCount !== told.length) clear(tiles, told.map(() => el("div", { class: "tile" }, el("span"), el("b"), el("small"))));
    told.forEach(([label, value, more, kind], i) => {
      const [a, b, c] = tiles.children[i].children;
      put(a, label); put(b, value); put(c, more); b.className = kind;
    });
    const counts = new Map([["overdue", rows.filter((r) => (r.last_ms ?? 0) > target).length]]);
    for (const r of rows) counts.set(r.state, (counts.get(r.state) || 0) + 1);
    const chips = [["", "all", rows.length], ...[...counts].filter(([, n]) => n).map(([s, n]) => [s, s, n])];
    const text = JSON.stringify([chips, view.state]);
    if (states.dataset.of !== text) {
      states.dataset.of = text;
      clear(states, chips.map(([key, label, n]) => el("button", { type: "button", class: key === view.state ? "chip on" : "chip", text: `${label} ${count(n)}`,
        onclick: () => { view.state = view.state === key ? "" : key; scroller.scrollTop = 0; draw(); } })));
    }
  }

  function open() {
    if (view.chosen !== null) { sessionStorage.setItem("headway.overview", JSON.stringify(view)); location.hash = `#/query/${encodeURIComponent(view.chosen)}`; }
  }

  function move(by_) {
    const is = order.findIndex((r) => r.name === view.chosen), next = Math.max(0, Math.min(order.length - 1, is < 0 ? 0 : is + by_));
    if (!order[next]) return;
    view.chosen = order[next].name;
    const top = next * height, room = scroller.clientHeight - heads.offsetHeight;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top + height > scroller.scrollTop + room) scroller.scrollTop = top + height - room;
    draw();
  }

  const stop = onNews(draw), tick = setInterval(draw, 1000);
  draw();
  return { draw, open, move, leave: () => { stop(); clearInterval(tick); },
    pin: () => { if (view.chosen !== null) { togglePin(view.chosen); draw(); } },
    sort: (next) => { const keys = COLUMNS.map(([key]) => key); by(next ? keys[(keys.indexOf(view.sort) + 1) % keys.length] : view.sort); } };
}

// Latencies of the newest windows as bars: those over the target stand out.
function spark() {
  const good = svg("path", { class: "good" }), bad = svg("path", { class: "over" }), line = svg("path", { class: "target" });
  const node = svg("svg", { class: "spark", viewBox: "0 0 116 28", "aria-hidden": "true" }, good, bad, line);
  let drawn = null;
  const draw = (values, target) => {
    if (drawn === values) return;
    drawn = values;
    const most = Math.max(target * 1.35, ...values), size = (v) => Math.max(1, (Math.max(0, v) / most) * 26), made = ["", ""];
    values.forEach((v, i) => { const x = 116 - (values.length - i) * 3.6, h = size(v); made[v > target ? 1 : 0] += `M${x} 28v${-h.toFixed(1)}h2.7v${h.toFixed(1)}z`; });
    good.setAttribute("d", made[0]); bad.setAttribute("d", made[1]);
    line.setAttribute("d", `M0 ${(28 - size(target)).toFixed(1)}H116`);
  };
  return { node, draw };
}
