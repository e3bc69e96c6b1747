// Pages, keys, and what stands above every page.

import { clear, hideTip, put } from "/dom.js";
import { follow, known, now, onNews } from "/state.js";
import { clock, day } from "/words.js";
import { overviewPage } from "/overview.js";
import { timelinePage } from "/timeline.js";
import { queryPage } from "/query.js";
import { decisionsPage } from "/decisions.js";
import { approximatePage } from "/approximate.js";
import { fleetPage } from "/fleet.js";
import { areaPage } from "/area.js";

const PAGES = { overview: overviewPage, timeline: timelinePage, query: queryPage, decisions: decisionsPage,
  approximate: approximatePage, fleet: fleetPage, area: areaPage };
const $ = (id) => document.getElementById(id);
let page = null, leaving = null;

function route() {
  const [, path = "", ...rest] = location.hash.split("/");
  const name = path === "" ? "overview" : path.split("?")[0];
  const given = new URLSearchParams(location.hash.split("?")[1] || "");
  if (leaving) leaving();
  hideTip();
  const make = PAGES[name] || overviewPage;
  const named = rest.join("/").split("?")[0];
  page = make(clear($("page")), { name: decodeURIComponent(named), given });
  leaving = page.leave || null;
  document.title = name === "overview" ? "Headway" : `${named ? decodeURIComponent(named) : name} · Headway`;
  for (const link of document.querySelectorAll("#nav a[data-page]")) {
    link.classList.toggle("here", link.dataset.page === (name === "query" ? "overview" : name));
  }
}

function head() {
  const told = known.head;
  if (told === null) return;
  put($("journal"), told.journal);
  const policy = [told.policy, told.slots ? `${told.slots} ${told.slots === 1 ? "slot" : "slots"}` : "",
    told.cores ? `${told.cores} cores` : ""].filter(Boolean).join(" · ");
  put($("policy"), policy);
  put($("live"), told.live ? "live" : "ended");
  $("dot").classList.toggle("on", told.live);
  put($("clock"), `${day(now())} ${clock(now(), false)}`);
  document.querySelector('[data-page="approximate"]').hidden = !told.approximate;
  document.querySelector('[data-page="fleet"]').hidden = !told.fleet;
  document.querySelector('[data-page="area"]').hidden = !told.area;
  if (told.area && !told.queries && !location.hash) location.hash = "#/area"; // nor does the controller of a wide area
  if (told.fleet && !location.hash) location.hash = "#/fleet"; // an orchestrator runs no query itself
}

function theme(next) {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const order = ["auto", dark ? "light" : "dark", dark ? "dark" : "light"];
  const is = localStorage.getItem("headway.theme") || "auto";
  const chosen = next ? order[(order.indexOf(is) + 1) % order.length] : is;
  localStorage.setItem("headway.theme", chosen);
  if (chosen === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
  if (next && page && page.draw) page.draw();
}

const KEYS = {
  "?": () => $("help").showModal(),
  t: () => theme(true),
  "/": () => { const box = document.querySelector("input.filter"); if (box) { box.focus(); box.select(); } },
  j: () => page.move && page.move(1),
  k: () => page.move && page.move(-1),
  ArrowDown: () => page.move && page.move(1),
  ArrowUp: () => page.move && page.move(-1),
  Enter: () => page.open && page.open(),
  p: () => page.pin && page.pin(),
  s: () => page.sort && page.sort(1),
  S: () => page.sort && page.sort(0),
  "[": () => page.shift && page.shift(-1),
  "]": () => page.shift && page.shift(1),
  Escape: () => { if (location.hash.startsWith("#/query")) location.hash = "#/"; },
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
  if (event.target.matches("input, select, textarea")) {
    if (event.key === "Escape" || event.key === "Enter") event.target.blur();
    return;
  }
  const link = document.querySelector(`#nav a[data-key="${CSS.escape(event.key)}"]`);
  const act = link && !link.hidden ? () => { location.hash = link.getAttribute("href"); } : KEYS[event.key];
  if (act) { event.preventDefault(); act(); }
});

$("keys").addEventListener("click", KEYS["?"]);
$("theme").addEventListener("click", KEYS.t);
addEventListener("hashchange", route);
addEventListener("resize", () => page && page.draw && page.draw());
theme(false);
onNews(head);
setInterval(head, 1000);
follow((text) => { $("trouble").hidden = !text; put($("trouble"), text); });
route();
