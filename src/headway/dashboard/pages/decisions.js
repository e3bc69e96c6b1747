// Every decision with its reason and what came of it, back to the beginning of the journal.

import { sparkLink } from "/batch.js";
import { ask, clear, el, put } from "/dom.js";
import { onNews } from "/state.js";
import { clock, count, day } from "/words.js";

export function decisionsPage(place, { given }) {
  const view = { question: given.get("question") || "", query: given.get("query") || "", kind: "news", before: null, at: null };
  let told = null, newest = true, chosen = 0, busy = false;
  const query = el("input", { class: "filter", type: "search", placeholder: "One query, by its name  ( / )", "aria-label": "Query", value: view.query, onchange: () => { view.query = query.value.trim(); first(); } });
  const questions = el("div", { class: "chips", role: "group", "aria-label": "Questions" });
  const slider = el("input", { type: "range", min: "0", max: "1000", value: "1000", "aria-label": "Place in the journal", onchange: () => { view.at = Math.round(told.from + (told.to - told.from) * (slider.value / 1000)); view.before = null; newest = slider.value === "1000"; if (newest) view.at = null; load(); } });
  const from = el("time"), to = el("time"), many = el("span", { class: "quiet" }), list = el("ol", { class: "decisions" }), more = el("p", { class: "none" });
  const button = (text, title, act) => el("button", { type: "button", class: "chip", text, title, onclick: act });
  place.append(el("div", { class: "bar" }, query, questions), el("div", { class: "bar scrub" }, from, slider, to,
    button("‹ earlier", "[", () => shift(-1)), button("later ›", "]", () => shift(1)), button("newest", "", () => first()), many), list, more);
  const KINDS = [["", "all questions"], ["order", "whose batch"], ["patience", "patience"], ["sampling", "sampling"], ["slack", "slack"], ["request", "requests"], ["placement", "placement"], ["adaptation", "wide area"]];

  function chips() {
    clear(questions, KINDS.map(([key, text]) => el("button", { type: "button", class: key === view.question ? "chip on" : "chip", text, onclick: () => { view.question = key; first(); } })),
      el("button", { type: "button", class: view.kind ? "chip" : "chip on", text: "with holds", onclick: () => { view.kind = view.kind ? "" : "news"; first(); } }));
  }
  function first() { view.before = null; view.at = null; newest = true; load(); }

  async function load(after = null) {
    if (busy) return;
    busy = true;
    chips();
    try {
      const next = await ask("decisions", { question: view.question, query: view.query, kind: view.kind, before: view.before, at: view.at, after, limit: 60 });
      if (after !== null && !next.lines.length) { newest = true; view.before = null; view.at = null; busy = false; return load(); }
      told = next;
      draw();
    } catch (error) { clear(list); put(more, error.message); more.hidden = false; }
    busy = false;
    return null;
  }

  function shift(by) {
    if (told === null || !told.lines.length) return;
    view.at = null;
    if (by < 0) { if (!told.more) return; newest = false; view.before = told.lines.at(-1).id; load(); } else { view.before = null; newest = false; load(told.lines[0].id); }
  }

  function draw() {
    put(from, `${day(told.from)} ${clock(told.from, false)}`);
    put(to, clock(told.to, false));
    const lines = told.lines;
    if (lines.length && document.activeElement !== slider) slider.value = String(newest ? 1000 : Math.round(((lines[0].at - told.from) / Math.max(1, told.to - told.from)) * 1000));
    chosen = Math.min(chosen, Math.max(0, lines.length - 1));
    clear(list, lines.map((line, i) => el("li", { class: i === chosen ? "chosen" : "", "data-line": line.id, onclick: () => { chosen = i; draw(); } },
      el("time", { text: clock(line.at) }), el("span", { class: `badge q-${line.question}`, text: line.question }),
      el("div", { class: "what" }, line.query ? el("a", { href: `#/query/${encodeURIComponent(line.query)}`, text: line.query }) : el("b", { text: line.scope || "no query" }), el("span", { class: "quiet", text: ` ${line.kind}; ${line.receipt}` }), el("p", { text: line.because }),
        line.effect ? el("p", { class: "effect" }, `→ ${line.effect} `, sparkLink(line.query, line.batch)) : null), el("small", { class: "quiet", text: line.policy }))));
    more.hidden = lines.length > 0;
    put(more, "No decision fits.");
    put(many, `${count(told.last - told.first + 1)} in the journal`);
  }

  const stop = onNews(() => { if (newest && view.before === null && view.at === null) load(); });
  load();
  return { leave: stop, shift, draw: () => told && draw(),
    move: (by) => { chosen = Math.max(0, Math.min(told.lines.length - 1, chosen + by)); draw(); list.children[chosen]?.scrollIntoView({ block: "nearest" }); },
    open: () => { const line = told.lines[chosen]; if (line && line.query) location.hash = `#/query/${encodeURIComponent(line.query)}`; } };
}
