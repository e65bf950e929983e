// The dashboard: asks for one stream of frames and shows each. Nothing is polled. All text that
// came from clients goes into the page as text, never as markup.
"use strict";

const $ = (id) => document.getElementById(id);
const HOUR_POINTS = 720;
const MINUTES = 60;
const MAX_EVENTS = 200;
const state = { frame: null, hour: null, minute: 0, minutes: new Map(), events: [], sort: { by: "rate", down: true } };

// --- Words

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const rate = (v) => (v >= 100 ? compact.format(v) : v >= 10 ? v.toFixed(0) : v === 0 ? "0" : v.toFixed(v < 0.1 ? 2 : 1));
const percent = (v) => (v === 0 ? "0 %" : v < 0.001 ? "<0.1 %" : (v * 100).toFixed(v < 0.1 ? 1 : 0) + " %");
const seconds = (v) => (v === 0 ? "–" : v < 0.001 ? (v * 1e6).toFixed(0) + " µs" : v < 1 ? (v * 1000).toFixed(v < 0.01 ? 1 : 0) + " ms"
  : v < 120 ? v.toFixed(v < 10 ? 1 : 0) + " s" : v < 7200 ? (v / 60).toFixed(0) + " min" : (v / 3600).toFixed(0) + " h");
const clock = (ms) => new Date(ms).toLocaleTimeString("en-GB");

function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") made.className = value;
    else if (name.startsWith("aria-") || name === "role" || name === "datetime") made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children);
  return made;
}

// --- The server

let token = sessionStorage.getItem("weir-token") || "";

function ask(path, options = {}) {
  const headers = { ...options.headers };
  if (token) headers.Authorization = "Bearer " + token;
  return fetch(path, { ...options, headers, cache: "no-store" });
}

async function follow() {
  for (let pause = 500; ; pause = Math.min(pause * 2, 10000)) {
    try {
      const answer = await ask("v1/stream");
      if (answer.status === 401) {
        say("token needed", "bad");
        await wantToken();
        continue;
      }
      if (!answer.ok) throw new Error("the server says " + answer.status);
      pause = 500;
      await readEvents(answer.body, (frame) => show(frame));
      say("reconnecting", "bad");
    } catch (error) {
      say("not connected", "bad");
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

// Server-sent events, one `data:` line each.
async function readEvents(body, told) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
      if (text.startsWith("data: ")) told(JSON.parse(text.slice(6, end)));
    }
  }
}

// --- A frame: the first one has the whole hour, each later one what is new

function show(frame) {
  state.frame = frame;
  keepHour(frame.hour);
  keepMinutes(frame);
  keepEvents(frame.events);
  showNow(frame);
  showLimits();
  showKeys(frame.keys);
  showPolicy(frame);
  if (!document.hidden) Charts.draw(state.hour, frame.ms / 1000);
  document.body.dataset.frames = Number(document.body.dataset.frames || 0) + 1;
}

function keepHour(hour) {
  const kept = state.hour;
  if (!kept || hour.t.length > 2) {
    state.hour = hour;
    return;
  }
  hour.t.forEach((t, i) => {
    if (kept.t.length && t <= kept.t[kept.t.length - 1]) return;
    const append = (to, from) => { to.push(from[i]); if (to.length > HOUR_POINTS) to.shift(); };
    for (const name of ["t", "allowed", "denied", "error", "wait_p50", "wait_p99", "fullness"]) append(kept[name], hour[name]);
    for (const name of Charts.SOURCES) append(kept.sources[name], hour.sources[name]);
  });
}

function keepMinutes(frame) {
  for (const limit of frame.limits) {
    if (limit.minutes.length === MINUTES) {
      state.minutes.set(limit.name, { minute: frame.minute, counts: limit.minutes });
      continue;
    }
    const kept = state.minutes.get(limit.name) || { minute: frame.minute, counts: Array(MINUTES).fill([0, 0]) };
    for (let i = kept.minute; i < frame.minute && i < kept.minute + MINUTES; ++i) kept.counts = [...kept.counts.slice(1), [0, 0]];
    kept.minute = frame.minute;
    kept.counts[MINUTES - 1] = limit.minutes[0];
    state.minutes.set(limit.name, kept);
  }
}

function keepEvents(events) {
  const newest = state.events.length ? state.events[0].n : 0;
  const fresh = newest > 0 && events.length && events[events.length - 1].n < newest ? events : events.filter((e) => e.n > newest);
  if (!fresh.length) return;
  if (fresh === events) state.events = [];  // another run of the program counts from one again
  state.events = [...fresh.slice().reverse(), ...state.events].slice(0, MAX_EVENTS);
  showEvents();
}

function say(text, kind) {
  if ($("ready").textContent !== text) $("ready").textContent = text;
  $("ready").className = "pill " + kind;
}

function showNow(frame) {
  const { allowed, denied } = frame.rates;
  const degraded = frame.reasons.length > 0;
  say(!frame.ready ? "not ready" : degraded ? "degraded" : "ready", frame.ready && !degraded ? "ok" : "bad");
  const reasons = frame.reasons.join("\n");
  if ($("reasons").textContent !== reasons) $("reasons").textContent = reasons;
  $("reasons").hidden = !degraded;
  $("policy-name").textContent = `${frame.policy.file} · generation ${frame.policy.generation}`;
  $("connections").textContent = Object.entries(frame.connections).map(([name, n]) => `${name} ${n}`).join(" · ");
  $("allowed-rate").textContent = rate(allowed);
  $("denied-rate").textContent = rate(denied);
  $("refused-share").textContent = percent(allowed + denied > 0 ? denied / (allowed + denied) : 0);
  $("wait-p50").textContent = seconds(frame.waits.p50);
  $("wait-p99").textContent = seconds(frame.waits.p99);
  const store = frame.store;
  $("store-state").textContent = store.up ? (store.kind === "memory" ? "memory" : "up") : "down";
  $("store-detail").textContent = store.kind === "memory"
    ? `${compact.format(store.keys)} of ${compact.format(store.max_keys)} keys` + (store.evictions ? ` · ${compact.format(store.evictions)} evicted` : "")
    : store.up ? `${store.kind} · P99 ${seconds(store.p99)}` : store.trouble;
  $("store-tile").classList.toggle("bad", !store.up);
  $("requests-now").textContent = `now ${rate(allowed)} allowed, ${rate(denied)} refused a second`;
  $("sources-now").textContent = "now " + (Object.entries(frame.rates.sources).map(([name, v]) => `${name} ${rate(v)}`).join(", ") || "none");
}

// --- Limits

function spark(counts) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("class", "spark");
  svg.setAttribute("viewBox", `0 0 ${MINUTES * 2} 20`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  const highest = Math.max(1, ...counts.map(([a, d]) => a + d));
  const refused = counts.reduce((sum, [, d]) => sum + d, 0);
  svg.setAttribute("aria-label", `last hour: at most ${compact.format(highest)} a minute, ${compact.format(refused)} refused`);
  counts.forEach(([a, d], i) => {
    const bar = (from, to, name) => {
      if (to <= from) return;
      const rect = document.createElementNS(space, "rect");
      rect.setAttribute("x", i * 2);
      rect.setAttribute("width", 1.6);
      rect.setAttribute("y", 20 - (to / highest) * 20);
      rect.setAttribute("height", Math.max(((to - from) / highest) * 20, 0.4));
      rect.setAttribute("class", name);
      svg.append(rect);
    };
    bar(0, a, "a");
    bar(a, a + d, "d");
  });
  return svg;
}

function limitRow(limit) {
  const name = element("td", { class: "name", title: limit.name }, limit.name, element("span", { class: "tag" }, limit.algorithm));
  if (limit.shadow) name.append(element("span", { class: "tag" }, "shadow"));
  const left = element("td", {});
  if (limit.fullness === undefined) left.append("–");
  else left.append(element("meter", { min: 0, max: 1, low: 0.1, high: 0.5, optimum: 1, value: limit.fullness, "aria-label": `left in ${limit.name}` }), percent(limit.fullness));
  const counts = state.minutes.get(limit.name);
  return element("tr", {}, name,
    element("td", { class: "number" }, rate(limit.rate) + "/s"),
    element("td", { class: "number" + (limit.refused >= 0.5 && limit.denied_rate > 0 ? " high" : "") }, percent(limit.refused)),
    left,
    element("td", { class: "number" }, seconds(limit.wait_p99)),
    element("td", {}, spark(counts ? counts.counts : [])));
}

function showLimits() {
  if (!state.frame) return;
  const wanted = $("filter").value.trim().toLowerCase();
  const { by, down } = state.sort;
  const of = (limit) => (limit[by] === undefined ? -1 : limit[by]);
  const order = (a, b) => {
    if (of(a) === of(b)) return a.name < b.name ? -1 : 1;
    return of(a) < of(b) === down ? 1 : -1;
  };
  const limits = state.frame.limits.filter((limit) => limit.name.toLowerCase().includes(wanted)).sort(order);
  $("limits").tBodies[0].replaceChildren(...limits.map(limitRow));
  $("no-limits").hidden = limits.length > 0;
}

function sortBy(button) {
  const by = button.dataset.sort;
  state.sort = { by, down: state.sort.by === by ? !state.sort.down : by !== "name" };
  for (const other of document.querySelectorAll("th[aria-sort]")) other.setAttribute("aria-sort", "none");
  button.closest("th").setAttribute("aria-sort", state.sort.down ? "descending" : "ascending");
  showLimits();
}

// --- Keys

function keyRow(one) {
  const look = element("button", { type: "button", "aria-label": `Look at ${one.key} of ${one.limit}` }, "Look");
  look.dataset.look = JSON.stringify([one.limit, one.values, one.attributes]);
  look.disabled = one.values.length === 0;
  if (look.disabled) look.title = "metrics.keys does not let keys be shown";
  const more = one.error > 0 ? element("small", {}, ` (at most ${compact.format(one.error)} too many)`) : "";
  return element("tr", {}, element("td", { class: "name", title: one.key }, one.key), element("td", {}, one.limit),
    element("td", { class: "number" }, compact.format(one.recent)),
    element("td", { class: "number" }, compact.format(one.denied), more), element("td", {}, look));
}

function showKeys(keys) {
  $("no-keys").hidden = keys.length > 0;
  const body = $("keys").tBodies[0];
  const focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.look : undefined;
  body.replaceChildren(...keys.slice(0, 20).map(keyRow));
  if (focused) {
    const again = [...body.querySelectorAll("button")].find((button) => button.dataset.look === focused);
    if (again) again.focus();
  }
}

let looked = null;

async function look(limit, values, attributes) {
  looked = { limit, values, attributes };
  $("key-dialog-title").textContent = `${values.join(", ")} in ${limit}`;
  $("key-answer").replaceChildren("asking …");
  if (!$("key-dialog").open) $("key-dialog").showModal();
  const query = values.map((value) => "key=" + encodeURIComponent(value)).join("&");
  looked.path = `v1/limits/${encodeURIComponent(limit)}/keys?${query}`;
  await tell(ask(looked.path), (found) => {
    const facts = [["remaining", found.remaining], ["of", found.quota], ["full again in", seconds(found.reset_after || 0)]];
    return element("dl", {}, ...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, String(value))]));
  });
}

async function tell(asked, describe) {
  try {
    const answer = await asked;
    const text = await answer.text();
    if (answer.status === 401) {
      $("key-answer").replaceChildren("This needs the token: press Token above.");
    } else if (!answer.ok) {
      let detail = text;
      try { detail = JSON.parse(text).detail || text; } catch (error) { /* not JSON */ }
      $("key-answer").replaceChildren(`Not done (${answer.status}): ${detail}`);
    } else {
      $("key-answer").replaceChildren(describe(text ? JSON.parse(text) : {}));
    }
  } catch (error) {
    $("key-answer").replaceChildren("Not done: " + error.message);
  }
}

// --- Policy and events

function showPolicy(frame) {
  const facts = [["file", frame.policy.file], ["generation", frame.policy.generation], ["limits", frame.policy.limits],
    ["in force", frame.policy.enabled ? "yes" : "no: enabled is false"], ["version", frame.version]];
  $("policy").replaceChildren(...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, String(value))]));
}

function eventItem(event) {
  const kind = event.level === "error" ? "error" : event.level === "warning" ? "warning-level" : "";
  return element("li", { class: kind }, element("time", { datetime: new Date(event.ms).toISOString() }, clock(event.ms)), element("span", {}, event.text));
}

function showEvents() {
  $("events").replaceChildren(...state.events.map(eventItem));
  $("history").replaceChildren(...state.events.filter((event) => /^(reload|policy|admin)/.test(event.text)).map(eventItem));
  $("no-events").hidden = state.events.length > 0;
}

// --- What a person does

function wantToken() {
  $("token").value = "";
  $("token-dialog").showModal();
  return new Promise((resolve) => $("token-dialog").addEventListener("close", resolve, { once: true }));
}

function useToken() {
  token = $("token").value.trim();
  sessionStorage.setItem("weir-token", token);
  $("token-dialog").close();
}

function listen() {
  document.querySelectorAll("[data-sort]").forEach((button) => button.addEventListener("click", () => sortBy(button)));
  document.querySelectorAll("[data-close]").forEach((button) => button.addEventListener("click", () => button.closest("dialog").close()));
  $("filter").addEventListener("input", showLimits);
  $("keys").addEventListener("click", (event) => {
    const asked = event.target.closest("button[data-look]");
    if (asked) look(...JSON.parse(asked.dataset.look));
  });
  $("key-reset").addEventListener("click", () => tell(ask(looked.path, { method: "DELETE" }), () => "Reset: the key is fresh."));
  $("key-ban").addEventListener("click", () => {
    const match = Object.fromEntries(looked.attributes.map((name, i) => [name, looked.values[i]]).filter(([name]) => name));
    const body = JSON.stringify({ match, for: $("ban-for").value });
    tell(ask("v1/bans", { method: "POST", body, headers: { "Content-Type": "application/json" } }), () => `Banned for ${$("ban-for").value}.`);
  });
  $("show-policy").addEventListener("click", async () => {
    const answer = await ask("debug/policy");
    $("policy-text").textContent = await answer.text();
    $("policy-dialog").showModal();
  });
  $("token-button").addEventListener("click", wantToken);
  $("token-use").addEventListener("click", useToken);
  $("token").addEventListener("keydown", (event) => { if (event.key === "Enter") useToken(); });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(event.target.tagName)) {
      event.preventDefault();
      $("filter").focus();
    }
  });
}

Charts.start();
listen();
follow();
