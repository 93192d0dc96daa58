"use strict";
const byId = name => document.getElementById(name);
const facts = ["op", "product", "dtype", "kind"], step = 100;
let page, rows, shown = step, sorted = { by: "", down: false };

function element(name, text = "", attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

// A row per verdict. Failing cases come first, different ones first among them.
function tabulated() {
  const place = new Map(page.bad.map((id, index) => [id, index]));
  const report = JSON.parse(page.report);
  const made = report.verdicts.map((verdict, index) => {
    const outputs = Object.values(verdict.outputs || {});
    const ratios = outputs.map(output => Number(output.ratio === "inf" ? Infinity : output.ratio));
    const endless = outputs.some(output => output.ratio === "inf" && output.error !== "inf") ? "bound 0" : "not finite";
    const reason = report.waived[verdict.case];
    return {
      id: verdict.case, verdict: verdict.verdict, waived: reason, failing: place.has(verdict.case),
      detail: verdict.detail + (reason ? " Waived: " + reason : ""), ratio: ratios.length ? Math.max(...ratios) : NaN,
      endless, order: place.has(verdict.case) ? place.get(verdict.case) : place.size + index,
      ...Object.fromEntries(facts.map(fact => [fact, String(verdict[fact] || "").replace(/^aclnn/, "")])),
    };
  });
  return made.sort((a, b) => a.order - b.order);
}

function filled(name, first) {
  const counts = new Map();
  for (const row of rows) counts.set(row[name], (counts.get(row[name]) || 0) + 1);
  const options = [...counts].sort().map(([value, count]) => element("option", `${value || "none"} (${count})`, { value: "=" + value }));
  byId(name).append(element("option", "any " + first, { value: "" }), ...options);
  byId(name).addEventListener("change", () => show());
}

function chosen() {
  const words = byId("words").value.toLowerCase().split(/\s+/).filter(Boolean);
  const named = ["verdict", ...facts].map(name => [name, byId(name).value]).filter(([, value]) => value);
  const found = rows.filter(row => named.every(([name, value]) => value === "failing" ? row.failing : value === "=" + row[name])
    && words.every(word => (row.id + " " + row.detail).toLowerCase().includes(word)));
  const { by, down } = sorted;
  if (by) found.sort((a, b) => compare(a[by], b[by]) * (down ? -1 : 1));
  return found;
}

function compare(a, b) {
  if (typeof a === "number") return (Number.isNaN(a) ? -1 : a) - (Number.isNaN(b) ? -1 : b);
  return a < b ? -1 : a > b ? 1 : 0;
}

function show(most = step) {
  shown = most;
  const found = chosen(), body = byId("rows");
  body.replaceChildren(...found.slice(0, shown).map(line));
  byId("count").textContent = `${found.length} of ${rows.length} cases` + (found.length > shown ? `, the first ${shown} shown` : "");
  byId("next").hidden = byId("every").hidden = found.length <= shown;
  return found;
}

function line(row) {
  const made = element("tr"), id = element("button", row.id, { class: "case", "aria-expanded": "false" });
  const badge = element("span", row.verdict + (row.waived ? " (waived)" : ""), { class: "badge " + row.verdict.split(" ")[0] });
  const ratio = Number.isNaN(row.ratio) ? "" : row.ratio === Infinity ? row.endless : row.ratio >= 1e5 ? row.ratio.toExponential(2) : String(Number(row.ratio.toPrecision(4)));
  const cells = [["", id], ["", badge], ["dtype", row.dtype], ["error / bound", ratio], ["", row.detail]];
  for (const [label, content] of cells) {
    const cell = made.insertCell();
    if (content) cell.append(content);
    if (label && content) cell.dataset.label = label;
  }
  made.cells[3].className = "n" + (row.ratio > 1 ? " bad" : "");
  id.addEventListener("click", () => toggle(made, row));
  made.dataset.case = row.id;
  return made;
}

function toggle(made, row) {
  const button = made.querySelector(".case"), open = button.getAttribute("aria-expanded") === "true";
  button.setAttribute("aria-expanded", String(!open));
  if (open) return made.nextElementSibling.remove();
  const more = element("tr", "", { class: "more" });
  const cell = more.insertCell();
  cell.colSpan = 5;
  cell.append(...unfolded(row));
  made.after(more);
}

// What lies behind a row: what can be copied, maps, the command and the call.
function unfolded(row) {
  const call = page.calls[row.id], command = page.command.length ? page.command.join(page.quoted[row.id] || row.id) : "";
  const here = location.href.split("#")[0] + "#" + encodeURIComponent(row.id);
  const texts = { "Copy id": row.id, "Copy command": command, "Copy call": call && JSON.stringify(call), "Copy link": here };
  const actions = element("p", "", { class: "actions" });
  for (const [label, text] of Object.entries(texts)) if (text) actions.append(copier(label, text));
  const parts = [actions, element("p", [row.op, row.product, row.kind].filter(Boolean).join(", "), { class: "soft" })];
  for (const [output, panels] of Object.entries(page.maps[row.id] || {})) {
    const figure = element("figure"), maps = element("div", "", { class: "maps" });
    maps.append(...panels.map(drawn));
    figure.append(element("figcaption", `${output}: each cell is the largest error / bound over all other axes`), maps, scale());
    parts.push(figure);
  }
  if (command) parts.push(element("pre", command));
  if (call) {
    const fold = element("details");
    fold.append(element("summary", "The call as JSON"), element("pre", JSON.stringify(call)));
    parts.push(fold);
  }
  return parts;
}

function copier(label, text) {
  const button = element("button", label, { type: "button" });
  button.addEventListener("click", async () => {
    button.textContent = await copied(text) ? "Copied" : "Not copied: the browser forbids it";
    setTimeout(() => { button.textContent = label; }, 1500);
  });
  return button;
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = element("textarea", text);
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

function svg(name, attributes, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

// An error map: a path per level, in whose colour its cells are filled.
function drawn(panel) {
  const high = panel.cells.length, wide = panel.cells[0].length, left = 48, below = 36;
  const x = Math.min(18, 420 / wide), y = Math.min(Math.max(18, 44 / high), 300 / high), paths = new Map();
  panel.cells.forEach((levels, row) => [...levels].forEach((level, column) =>
    paths.set(level, (paths.get(level) || "") + `M${column * x} ${row * y}h${x}v${y}h${-x}z`)));
  const width = wide * x, height = high * y, [rows, columns] = panel.size;
  const made = svg("svg", { width: left + width + 24, height: height + below, viewBox: `${-left} -2 ${left + width + 24} ${height + below}`, role: "img" });
  made.append(svg("title", {}, `error map, ${panel.rows} by ${panel.columns}`));
  for (const [level, d] of paths) made.append(svg("path", { d, class: "level" + level }));
  for (const at of panel.lines) made.append(svg("path", { d: `M${at / columns * width} 0v${height}`, class: "group" }));
  made.append(svg("rect", { width, height, class: "frame" }));
  for (const at of ticks(columns, width / 26)) made.append(svg("text", { x: (at + .5) / columns * width, y: height + 14, "text-anchor": "middle" }, at));
  for (const at of ticks(rows, height / 14)) made.append(svg("text", { x: -6, y: (at + .5) / rows * height + 4, "text-anchor": "end" }, at));
  made.append(svg("text", { x: width / 2, y: height + 29, "text-anchor": "middle" }, panel.columns));
  made.append(svg("text", { transform: `translate(${12 - left} ${height / 2}) rotate(-90)`, "text-anchor": "middle" }, panel.rows));
  return made;
}

function ticks(extent, most) {
  const apart = Math.max(1, Math.ceil(extent / Math.max(most, 1)));
  return Array.from({ length: Math.ceil(extent / apart) }, (_, index) => index * apart);
}

function scale() {
  const made = element("div", "", { class: "scale soft" });
  page.levels.forEach((name, level) => {
    const entry = element("span");
    entry.append(element("i", "", { class: "level" + level }), name);
    made.append(entry);
  });
  return made;
}

// The case that the address names is opened, whatever the filters say.
function opened() {
  const id = decodeURIComponent(location.hash.slice(1));
  if (!rows.some(row => row.id === id)) return;
  reset();
  const at = show(Infinity).findIndex(row => row.id === id);
  show(Math.max(step, at + 1));
  const made = byId("rows").children[at];
  toggle(made, rows.find(row => row.id === id));
  made.scrollIntoView();
}

function reset(verdict = "") {
  for (const name of ["words", "verdict", ...facts]) byId(name).value = "";
  byId("verdict").value = verdict;
  sorted = { by: "", down: false };
  for (const head of document.querySelectorAll("#verdicts th")) head.removeAttribute("aria-sort");
}

function sort(head) {
  const by = head.dataset.by, down = sorted.by === by && !sorted.down;
  for (const other of document.querySelectorAll("#verdicts th")) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  sorted = { by, down };
  show();
}

function download(name, text) {
  const link = element("a", "", { href: URL.createObjectURL(new Blob([text])), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

async function start() {
  page = await unpacked(byId("data").textContent);
  rows = tabulated();
  filled("verdict", "verdict");
  if (page.bad.length) byId("verdict").options[0].after(element("option", `failing (${page.bad.length})`, { value: "failing" }));
  for (const name of facts) filled(name, name === "op" ? "operator" : name);
  let pending = 0;
  byId("words").addEventListener("input", () => { clearTimeout(pending); pending = setTimeout(show, 120, step); });
  byId("reset").addEventListener("click", () => { reset(); show(); });
  byId("next").addEventListener("click", () => show(shown + step));
  byId("every").addEventListener("click", () => show(Infinity));
  byId("json").addEventListener("click", () => download("report.json", page.report));
  const calls = Object.values(page.calls);
  byId("calls").hidden = !calls.length;
  byId("calls").addEventListener("click", () => download("failing.jsonl", calls.map(call => JSON.stringify(call) + "\n").join("")));
  for (const head of document.querySelectorAll("#verdicts th")) head.querySelector("button").addEventListener("click", () => sort(head));
  for (const badge of document.querySelectorAll(".totals button")) badge.addEventListener("click", () => { reset("=" + badge.dataset.verdict); show(); });
  reset(page.bad.length ? "failing" : "");
  show();
  addEventListener("hashchange", opened);
  opened();
}

start().catch(error => { byId("count").textContent = `The table cannot be shown: ${error}. It needs a browser of 2023 or later.`; });
