// What is known of all queries: filled by the stream of what is new, read by every page.

export const known = {
  head: null, rows: new Map(), ahead: 0, // ahead: the server's clock less ours
  pins: new Set(JSON.parse(localStorage.getItem("headway.pins") || "[]")),
};
const listeners = new Set();

export function onNews(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function now() {
  if (known.head === null) return Date.now();
  return known.head.live ? Date.now() + known.ahead : known.head.now;
}

export function togglePin(name) {
  if (!known.pins.delete(name)) known.pins.add(name);
  localStorage.setItem("headway.pins", JSON.stringify([...known.pins]));
}

function take(told) {
  const { rows, ...head } = told;
  if (known.head !== null && head.version < known.head.version) known.rows.clear(); // another dashboard has begun
  known.head = head;
  known.ahead = head.now - Date.now();
  for (const row of rows) known.rows.set(row.name, row);
  for (const listener of listeners) listener(head);
}

export function follow(onTrouble) {
  const source = new EventSource("/api/stream");
  source.addEventListener("rows", (event) => { onTrouble(""); take(JSON.parse(event.data)); });
  source.addEventListener("error", () => {
    onTrouble("The dashboard does not answer. What is shown is what was known last; it is tried again.");
    if (source.readyState === EventSource.CLOSED) setTimeout(() => follow(onTrouble), 3000);
  });
}
