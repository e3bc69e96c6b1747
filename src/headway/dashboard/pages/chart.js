// Charts as SVG: axes with round numbers, and a few kinds of marks.

import { clear, hideTip, showTip, svg } from "/dom.js";

export function ticks(low, high, many) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const rough = span / many, size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((f) => f * size).find((s) => s >= rough);
  const made = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9; at += step) made.push(at);
  return made;
}

export function timeTicks(low, high, many) {
  const steps = [10, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 72e5, 216e5, 864e5];
  const step = steps.find((s) => (high - low) / s <= many) || 864e5;
  const made = [];
  for (let at = Math.ceil(low / step) * step; at <= high; at += step) made.push(at);
  return made;
}

// marks: [{kind: line|step|dots|bars|h|v, of: [[x, y, tip?, x2?, class?, what it is of]], class}]; `pick` is told what was clicked
export function chart(place, { marks, x, y, label, pick }) {
  const width = Math.max(240, place.clientWidth || 480), height = 210, left = 56, right = 12, top = 10, bottom = 30;
  const xs = marks.flatMap((m) => (m.kind === "h" ? [] : m.of.flatMap((p) => (p[3] === undefined ? [p[0]] : [p[0], p[3]]))));
  const ys = marks.flatMap((m) => (m.kind === "v" ? [] : m.of.map((p) => p[1])));
  const low = { x: x.low ?? Math.min(...xs), y: y.low ?? Math.min(0, ...ys) }, high = { x: x.high ?? Math.max(...xs), y: y.high ?? Math.max(...ys) };
  if (!xs.length || !ys.length) { clear(place, Object.assign(document.createElement("p"), { className: "none", textContent: "Nothing to draw yet." })); return; }
  if (high.x <= low.x) { low.x -= 1; high.x += 1; }
  if (high.y <= low.y) high.y = low.y + 1;
  if (y.high === undefined) high.y += (high.y - low.y) * 0.06;
  const px = (v) => left + ((v - low.x) / (high.x - low.x)) * (width - left - right);
  const py = (v) => height - bottom - ((v - low.y) / (high.y - low.y)) * (height - top - bottom);
  const root = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label });
  let before = null; // of whole numbers, half of one would be written as one
  for (const at of ticks(low.y, high.y, 4)) {
    if (y.says(at) === before && before !== "") continue;
    before = y.says(at);
    root.append(svg("line", { class: "grid", x1: left, x2: width - right, y1: py(at), y2: py(at) }),
      svg("text", { class: "axis", x: left - 8, y: py(at) + 4, "text-anchor": "end", text: y.says(at) }));
  }
  const across = x.time ? timeTicks(low.x, high.x, Math.floor(width / 110)) : ticks(low.x, high.x, Math.floor(width / 90));
  for (const at of across) root.append(svg("text", { class: "axis", x: px(at), y: height - 10, "text-anchor": "middle", text: x.says(at) }));
  for (const mark of marks) root.append(...drawn(mark, px, py, low, width, right, left, height - bottom, top));
  const nearest = (event) => {
    const box = root.getBoundingClientRect(), at = event.clientX - box.left, up = event.clientY - box.top;
    let best = null, far = 900;
    for (const mark of marks) for (const p of mark.of) {
      if (p[2] === undefined) continue;
      const middle = p[3] === undefined ? px(p[0]) : (px(p[0]) + px(p[3])) / 2, off = mark.kind === "bars" ? 0 : py(p[1]) - up;
      const d = (middle - at) ** 2 + (off * 0.5) ** 2;
      if (d < far) { far = d; best = p; }
    }
    return best;
  };
  root.addEventListener("pointermove", (event) => {
    const best = nearest(event);
    if (best) showTip(event.clientX, event.clientY, best[2]); else hideTip();
  });
  if (pick) root.addEventListener("click", (event) => { const best = nearest(event); if (best && best[5] !== undefined) pick(best[5]); });
  root.addEventListener("pointerleave", hideTip);
  clear(place, root);
}

function drawn(mark, px, py, low, width, right, left, base, top) {
  const name = `mark ${mark.class || ""}`;
  switch (mark.kind) {
    case "line": return [svg("path", { class: `${name} line`, d: mark.of.map((p, i) => `${i ? "L" : "M"}${px(p[0]).toFixed(1)} ${py(p[1]).toFixed(1)}`).join("") })];
    case "area": {
      const line = mark.of.map((p) => `L${px(p[0]).toFixed(1)} ${py(p[1]).toFixed(1)}`).join("");
      return [svg("path", { class: `${name} area`, d: `M${px(mark.of[0][0])} ${base}${line}L${px(mark.of.at(-1)[0])} ${base}z` })];
    }
    case "step": return [svg("path", { class: `${name} line`, d: mark.of.map((p, i) => (i ? `H${px(p[0]).toFixed(1)}V${py(p[1]).toFixed(1)}` : `M${px(p[0])} ${py(p[1])}`)).join("") })];
    case "dots": return mark.of.map((p) => svg("circle", { class: `${name} ${p[4] || ""}`, cx: px(p[0]).toFixed(1), cy: py(p[1]).toFixed(1), r: mark.r || 3 }));
    case "bars": return mark.of.map((p) => svg("rect", { class: `${name} ${p[4] || ""}`, x: (px(p[0]) + 0.5).toFixed(1), width: Math.max(1, px(p[3]) - px(p[0]) - 1).toFixed(1), y: py(p[1]).toFixed(1), height: Math.max(0, base - py(p[1])).toFixed(1), rx: 1.5 }));
    case "h": return mark.of.map((p) => svg("line", { class: `${name} rule`, x1: left, x2: width - right, y1: py(p[1]), y2: py(p[1]) }));
    default: return mark.of.map((p) => svg("line", { class: `${name} rule`, x1: px(p[0]), x2: px(p[0]), y1: top, y2: base }));
  }
}
