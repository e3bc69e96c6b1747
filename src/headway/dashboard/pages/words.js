// Numbers and times as people read them.

const DAY = 86400000;

export function clock(ms, millis = true) {
  if (ms === null || ms === undefined) return "–";
  const zone = Math.abs(ms) < 365 * DAY ? "UTC" : undefined; // a clock of some simulation
  const text = new Date(ms).toLocaleTimeString("en-GB", { hour12: false, timeZone: zone });
  return millis ? `${text}.${String(((Math.floor(ms) % 1000) + 1000) % 1000).padStart(3, "0")}` : text;
}

export function hour(ms) {
  return clock(ms).replace(/\.000$/, "");
}

export function day(ms) {
  if (ms === null || ms === undefined) return "";
  return Math.abs(ms) < 365 * DAY ? "virtual time" : new Date(ms).toLocaleDateString("en-CA");
}

export function lasting(ms) {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return "–";
  const size = Math.abs(ms), sign = ms < 0 ? "−" : "";
  if (size < 1000) return `${sign}${Math.round(size)} ms`;
  if (size < 60000) return `${sign}${(size / 1000).toFixed(size < 10000 ? 2 : 1)} s`;
  if (size < 7200000) return `${sign}${(size / 60000).toFixed(1)} min`;
  if (size < 2 * DAY) return `${sign}${(size / 3600000).toFixed(1)} h`;
  return `${sign}${Math.round(size / DAY).toLocaleString("en")} days`;
}

export function count(n) {
  if (n === null || n === undefined) return "–";
  const size = Math.abs(n);
  if (size < 10000) return Math.round(n).toLocaleString("en");
  if (size < 1e6) return `${(n / 1e3).toFixed(size < 1e5 ? 1 : 0)}k`;
  if (size < 1e9) return `${(n / 1e6).toFixed(size < 1e8 ? 1 : 0)}M`;
  return `${(n / 1e9).toFixed(1)}G`;
}

export function bytes(n) {
  if (!n) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  while (n >= 1000 && at < units.length - 1) { n /= 1000; at += 1; }
  return `${n.toFixed(at && n < 100 ? 1 : 0)} ${units[at]}`;
}

export function percent(share, digits = 0) {
  return share === null || share === undefined ? "–" : `${(share * 100).toFixed(digits)}%`;
}
