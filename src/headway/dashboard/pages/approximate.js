// Queries that are answered from samples: what was promised, what is taken for it.

import { chart } from "/chart.js";
import { ask, clear, el } from "/dom.js";
import { onNews } from "/state.js";
import { clock, count, hour, lasting, percent } from "/words.js";

export function approximatePage(place) {
  const cards = el("div", { class: "plots" });
  place.append(el("p", { class: "lead", text: "These queries take as many rows as their answers need, and let a window go as soon as its sample is there." }), cards);
  let told = null, busy = false;

  async function load() {
    if (busy) return;
    busy = true;
    try { told = await ask("approximate"); draw(); } catch (error) { clear(cards, el("p", { class: "trouble", text: error.message })); }
    busy = false;
  }

  function draw() {
    if (told === null) return;
    clear(cards, told.inputs.map((one) => {
      const plot = el("div", { class: "plot" }), errors = el("div", { class: "plot bounds" }), waits = el("div", { class: "plot latencies" }), bar = el("i");
      bar.style.width = percent(one.share, 1);
      const fact = (k, v) => el("div", {}, el("dt", { text: k }), el("dd", { text: v }));
      const card = el("figure", { class: "card" }, el("figcaption", {}, el("b", {}, el("a", { href: `#/query/${encodeURIComponent(one.query)}`, text: one.query })), el("small", { text: `${one.input} · ${one.policy}` })),
        el("div", { class: "share", title: "share of the rows that is taken" }, bar, el("b", { text: percent(one.share, 1) }), el("span", { text: "of its rows" })),
        el("dl", { class: "facts" }, fact("promised", one.error === null ? "–" : `within ${percent(one.error, 1)} in ${percent(one.confidence)} of ${one.of === "groups" ? "groups" : "windows"}`), fact("of the", one.of || "–"),
          fact("sample", one.needed ? `${count(one.needed)} rows` : "–"), fact("waits", lasting(one.wait_ms)), fact("own rates", one.groups ? `${count(one.groups)} groups` : "none")),
        el("p", { class: "because", text: one.because }), plot, el("small", { class: "quiet", text: "share of the rows taken, over time" }),
        one.bounds.length ? errors : null, one.bounds.length ? el("small", { class: "quiet", text: "the error that its samples had, by the spread of their values; the line is what was promised" }) : null,
        waits, el("small", { class: "quiet", text: "how long after its end each window came out; the line is how long it waits" }));
      requestAnimationFrame(() => chart(plot, { label: "Share taken", x: { time: true, says: (v) => clock(v, false), high: Math.max(told.now, ...one.series.map((s) => s[0])) }, y: { says: (v) => percent(v), low: 0, high: 1 },
        marks: [{ kind: "step", class: "main", of: [...one.series.map(([at, share, wait]) => [at, share, [[clock(at)], ["taken", percent(share, 1)], ["waits", lasting(wait)]]]), [told.now, one.share]] }] }));
      const time = { time: true, says: (v) => clock(v, false) };
      requestAnimationFrame(() => {
        if (one.bounds.length) chart(errors, { label: "Bounds achieved", x: time, y: { says: (v) => percent(v, 1), low: 0 }, marks: [{ kind: "h", class: "target", of: [[0, one.error]] }, { kind: "step", class: "main", of: one.bounds.map(([at, bound]) => [at, bound, [[clock(at)], ["error", percent(bound, 2)], ["promised", percent(one.error, 1)]]]) }] });
        chart(waits, { label: "Latency of windows", x: time, y: { says: lasting, low: 0 }, marks: [{ kind: "h", class: "target", of: [[0, one.wait_ms]] }, { kind: "dots", class: "window", of: one.windows.map(([out, end, ms]) => [out, ms, [[`window ${hour(end)}`], ["came out", clock(out)], ["after its end", lasting(ms)]]]) }] });
      });
      return card;
    }));
    if (!told.inputs.length) clear(cards, el("p", { class: "none", text: "No query is sampled." }));
  }

  const stop = onNews(load);
  load();
  return { draw, leave: stop };
}
