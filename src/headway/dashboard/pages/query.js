// The page of one query.

import { batchLine } from "/batch.js";
import { chart } from "/chart.js";
import { ask, clear, el, put } from "/dom.js";
import { known, now, onNews, togglePin } from "/state.js";
import { bytes, clock, count, hour, lasting, percent } from "/words.js";

export function queryPage(place, { name, given }) {
  let told = null, busy = false, again = false, seen = -1, upto = Number(given.get("to")) || null, span = Number(given.get("span")) || 120000, window_ = given.get("window"), story = null;
  const title = el("h1"), state = el("span", { class: "badge" }), pin = el("button", { type: "button", class: "pin big", "aria-label": "Pin", onclick: () => { togglePin(name); heading(); } });
  const spark = el("a", { class: "button", target: "_blank", rel: "noopener noreferrer", text: "Spark's own page ↗", hidden: true });
  const facts = el("dl", { class: "facts" }), failure = el("p", { class: "trouble", hidden: true });
  const figure = (head, how) => {
    const box = el("div", { class: "plot" }), node = el("figure", { class: "card" }, el("figcaption", {}, el("b", { text: head }), el("small", { text: how })), box);
    return { node, box };
  };
  const plots = { windows: figure("Latency of each window", "how long after it was due it came out; the line is the target"),
    cdf: figure("How many windows were out after how long", "further left is sooner"),
    lag: figure("Watermark and windows", "how far the watermark was behind the clock as each batch ended"),
    cost: figure("What a batch costs", "each dot is a batch; the line is what Headway expects"),
    delays: figure("How late rows come", "delay of rows between their time and their arrival"),
    state: figure("State", "rows of state after each batch") };
  const tale = el("ol", { class: "story" }), chips = el("div", { class: "chips" }), notes = el("ul", { class: "notes" });
  const when = el("span", { class: "quiet stretch" }), button = (text, hint, act) => el("button", { type: "button", class: "chip", text, title: hint, onclick: act });
  const picked = el("section", { class: "card wide picked", hidden: true, "aria-live": "polite" }), progress = el("ol", { class: "progress" });
  const windowsCard = el("section", { class: "card wide" }, el("h2", { text: "Its windows now" }), progress);
  const tellCard = el("section", { class: "card wide" }, el("h2", { text: "Why was it late?" }), chips, tale);
  place.append(el("div", { class: "title" }, el("a", { href: "#/", class: "back", text: "‹ all queries" }), title, state, pin, el("span", { class: "grow" }),
    el("a", { class: "button", href: `#/decisions?query=${encodeURIComponent(name)}`, text: "its decisions" }), spark),
  failure, facts, tellCard, windowsCard, el("div", { class: "bar" }, when, el("div", { class: "chips" }, button("‹ earlier", "[", () => shift(-1)), button("later ›", "]", () => shift(1)), button("newest", "", newest))), picked, el("div", { class: "plots" }, Object.values(plots).map((p) => p.node)), el("section", { class: "card wide" }, el("h2", { text: "What happened to it" }), notes));
  put(title, name);

  function newest() { upto = null; load(); }
  function shift(by) {
    if (told === null || (upto === null && (by > 0 || !told.batches.length))) return;
    if (upto === null) upto = told.batches.at(-1).at;
    upto += by * span * 0.8;
    if (told.first !== null) upto = Math.max(upto, told.first + span * 0.5);
    if (upto >= told.at) upto = null;
    load();
  }
  function pick(batch) {
    const b = told.batches.find((one) => one.batch === batch);
    if (!b) return;
    picked.hidden = false;
    clear(picked, batchLine({ ...b, query: name, ends: told.windows.filter((w) => w.batch === batch).map((w) => w.end) }, [el("a", { class: "button", href: `#/timeline?to=${b.at + 3000}&span=10000`, text: "on the timeline" })]));
  }

  async function load() {
    if (busy) { again = true; return; } // what was asked for meanwhile is asked next
    busy = true;
    try {
      told = await ask("query", { name, since: upto === null ? null : Math.round(upto - span), upto: upto === null ? null : Math.round(upto) });
      failure.hidden = true;
      draw();
      if (story === null) await tell();
    } catch (error) { failure.hidden = false; put(failure, error.message); }
    busy = false;
    if (again) { again = false; await load(); }
  }

  async function tell() {
    try { story = await ask("story", { name, window: window_ }); } catch (error) { story = { lines: [["", error.message]], worst: [] }; }
    clear(chips, story.worst.map((w) => el("button", { type: "button", class: w.end === story.end ? "chip on" : "chip", text: `${w.window}  ${lasting(w.latency_ms)}`, onclick: () => { window_ = w.end; tell(); } })));
    clear(tale, story.lines.map(([word, said]) => el("li", { class: /^\d/.test(word) ? "moment" : `word w-${word || "more"}` }, el("b", { text: word }), el("span", { text: said }))));
    if (!story.lines.length) clear(tale, el("li", {}, el("span", { text: "No window of it has come out yet." })));
  }

  function heading() {
    const row = told.row;
    put(state, row.state);
    state.className = `badge s-${row.state.replaceAll(" ", "-")}`;
    put(pin, known.pins.has(name) ? "★" : "☆");
    spark.hidden = !row.link;
    if (row.link) spark.href = row.link;
    const at = told.live ? now() : told.now, all = [["slack", row.begin_by === null || row.state === "ended" ? "–" : lasting(row.begin_by - at)],
      ["next window", row.deadline === null ? "–" : hour(row.deadline)], ["latency", `${lasting(row.last_ms)} · p99 ${lasting(row.p99_ms)}`],
      ["overdue", `${count(row.overdue)} of ${count(row.windows)}`], ["watermark", row.watermark === null ? "–" : `${hour(row.watermark)}, ${lasting(at - row.watermark)} behind`],
      ["waiting rows", count(row.backlog)], ["rows", `${count(row.rows_per_s)} /s`], ["late rows", count(row.late)], ["patience", lasting(row.patience_ms)],
      ["state", `${count(row.state_rows)} rows, ${bytes(row.state_bytes)}`], ["batches", `${count(row.batches)}, ${lasting(row.busy_ms)} in all`],
      ["sampled", row.share === null ? "no" : percent(row.share, 1)], ["last decision", row.because || "–"]];
    clear(facts, all.map(([k, v]) => el("div", { class: k === "last decision" ? "long" : "" }, el("dt", { text: k }), el("dd", { text: v }))));
    if (row.error) { failure.hidden = false; put(failure, row.error); }
  }

  function windowsNow() {
    const says = { out: "its result is out", announced: "announced: the next batch emits it", open: "open" };
    const grids = told.grids.map((g) => `every ${lasting(g.period_ms)}`).join(", ");
    clear(progress, told.progress.map((w) => {
      const bar = el("i");
      bar.style.width = percent(w.read || 0, 1);
      return el("li", { class: `w-${w.state}`, "data-end": w.end }, el("b", { text: hour(w.end) }), el("span", { class: "track", title: "how far its event time has been read" }, bar), el("span", { text: w.read === null || w.state !== "open" ? says[w.state] : `${percent(w.read)} of it is read` }), el("small", { class: "quiet", text: `due ${clock(w.due)}` }));
    }), told.progress.length ? el("li", { class: "quiet", text: `windows ${grids}${told.announced ? `; announced up to ${hour(told.announced)}` : ""}${told.swept ? `; emitted up to ${hour(told.swept)}` : ""}` }) : el("li", { class: "quiet", text: "It has no watermark yet." }));
  }

  function draw() {
    if (told === null) return;
    heading();
    windowsNow();
    put(when, told.batches.length ? `${upto === null ? "the newest: " : ""}${clock(told.batches[0].at, false)} to ${clock(told.batches.at(-1).at, false)}` : "no batch was done here");
    const target = told.target_ms, time = { time: true, says: (v) => clock(v, false) }, dur = { says: lasting };
    chart(plots.windows.box, { label: "Latency of windows", x: time, y: { ...dur, low: 0 }, marks: [{ kind: "h", class: "target", of: [[0, target]] },
      { kind: "dots", class: "window", of: told.windows.map((w) => [w.out, w.latency_ms, [[`window ${hour(w.end)}`], ["was due", clock(w.due)], ["came out", clock(w.out)], ["latency", lasting(w.latency_ms)], ["batch", String(w.batch)]], undefined, w.latency_ms > target ? "over" : "", w.batch]) }], pick });
    chart(plots.cdf.box, { label: "Share of windows out by then", x: { says: lasting, low: 0 }, y: { says: (v) => percent(v), low: 0, high: 1 }, marks: told.cdf.length ? [{ kind: "v", class: "target", of: [[target, 0]] }, { kind: "step", class: "main", of: [[0, 0], ...told.cdf] }] : [] });
    const lag = told.batches.filter((b) => b.watermark && b.at - b.watermark < 864e5);
    chart(plots.lag.box, { label: "Watermark lag", x: time, y: { ...dur, low: 0 }, marks: lag.length ? [{ kind: "area", class: "main", of: lag.map((b) => [b.at, b.at - b.watermark]) },
      { kind: "line", class: "main", of: lag.map((b) => [b.at, b.at - b.watermark, [[clock(b.at)], ["watermark", hour(b.watermark)], ["behind", lasting(b.at - b.watermark)]]]) }] : [] });
    const most = Math.max(1, ...told.batches.map((b) => b.rows));
    chart(plots.cost.box, { label: "Cost of batches", x: { says: count, low: 0 }, y: { ...dur, low: 0 }, marks: [{ kind: "dots", class: "window", of: told.batches.map((b) => [b.rows, b.took_ms, [[`batch ${b.batch}`], ["rows", count(b.rows)], ["took", lasting(b.took_ms)], ["done", clock(b.at)]], undefined, "", b.batch]) },
      ...(told.cost ? [{ kind: "line", class: "model", of: [[0, told.cost.fixed_ms], [most, told.cost.fixed_ms + told.cost.per_row_ms * most]] }] : [])], pick });
    const bins = told.inputs.flatMap((i) => (i.histogram ? i.histogram.bins.map(([a, b, s]) => [a, s, [[i.name], [`${lasting(a)} to ${lasting(b)}`, percent(s, 1)]], b]) : []));
    const rules = told.inputs.map((i) => [i.patience_ms, 0]), means = told.inputs.filter((i) => i.delay).map((i) => i.delay);
    if (bins.length) chart(plots.delays.box, { label: "Delays", x: { says: lasting, low: 0, high: Math.max(...rules.map((r) => r[0]), ...bins.map((b) => b[3])) * 1.02 }, y: { says: (v) => percent(v), low: 0 }, marks: [{ kind: "bars", class: "main", of: bins }, { kind: "v", class: "target", of: rules }] });
    else if (means.length) chart(plots.delays.box, { label: "Delays", x: { says: lasting, low: 0, high: Math.max(...rules.map((r) => r[0]), ...means.map((d) => d.high_ms)) * 1.1 }, y: { says: () => "", low: 0, high: 1 },
      marks: [{ kind: "bars", class: "main", of: means.map((d) => [Math.max(0, d.low_ms), 0.55, [["most delays"], ["from", lasting(d.low_ms)], ["to", lasting(d.high_ms)], ["mean", lasting(d.mean_ms)]], d.high_ms]) }, { kind: "v", class: "model", of: means.map((d) => [d.mean_ms, 0]) }, { kind: "v", class: "target", of: rules }] });
    else chart(plots.delays.box, { label: "Delays", x: { says: lasting }, y: dur, marks: [] });
    chart(plots.state.box, { label: "State", x: time, y: { says: count, low: 0 }, marks: told.batches.length ? [{ kind: "step", class: "main", of: told.batches.map((b) => [b.at, b.state_rows, [[clock(b.at)], ["rows of state", count(b.state_rows)]]]) }] : [] });
    clear(notes, told.notes.length ? told.notes.map((n) => el("li", {}, el("time", { text: clock(n.at) }), el("span", { text: n.text }))) : el("li", { class: "quiet", text: "Nothing out of the ordinary." }));
  }

  const stop = onNews((head) => {
    const row = known.rows.get(name), mark = row ? row.batches : head.version;
    if (mark !== seen && upto === null) { seen = mark; load(); }
  });
  load();
  return { draw, shift, leave: stop, pin: () => { togglePin(name); if (told) heading(); } };
}
