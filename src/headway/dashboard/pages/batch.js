// One batch, chosen on a page: what it did, and the way to Spark's own page about it.

import { el } from "/dom.js";
import { known } from "/state.js";
import { clock, count, hour, lasting } from "/words.js";

// Null where Spark has no pages, or the runtime has ended.
export function sparkLink(query, batch, text = "in Spark ↗") {
  const row = known.rows.get(query);
  if (!row || !row.link || batch === null || batch === undefined) return null;
  return el("a", { class: "button spark", target: "_blank", rel: "noopener noreferrer", title: "Spark's own page about this batch",
    href: `/spark?${new URLSearchParams({ query, batch })}`, text });
}

// `bar` has query, batch, began, at, took_ms and rows, and `ends` where windows came out with it.
export function batchLine(bar, more = []) {
  const fact = (k, v) => el("div", {}, el("dt", { text: k }), el("dd", { text: v }));
  return [el("b", { text: `${bar.query}, batch ${bar.batch}` }), el("dl", { class: "facts" }, fact("began", clock(bar.began)), fact("done", clock(bar.at)), fact("took", lasting(bar.took_ms)), fact("rows", count(bar.rows)),
    bar.ends ? fact("windows", bar.ends.length ? bar.ends.slice(0, 4).map(hour).join(", ") : "none came out") : null), el("div", { class: "chips" }, ...more, sparkLink(bar.query, bar.batch))];
}
