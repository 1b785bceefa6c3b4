// Cards of plots, drawn when they come into view; buttons, keys and paper.
const notes = [];
const parts = [...document.querySelectorAll("main > section")];
const soon = new IntersectionObserver((seen) => {
  for (const one of seen) if (one.isIntersecting) { soon.unobserve(one.target); draw(one.target); }
}, { rootMargin: "300px" });

for (const grid of document.querySelectorAll(".panels")) {
  const section = data.sections[Number(grid.dataset.section)];
  const all = new Set(section.panels.flatMap((p) => p.curves.map((c) => c.side)));
  const note = document.createElement("p");
  note.className = "cycle";
  note.textContent = Object.keys(data.cycles).length ? cycleNote(all) : "";
  grid.before(note);
  const whose = document.createElement("p");
  whose.className = "whose";
  whose.textContent = `Gray is the normal range: ${section.normal}.`;
  grid.before(whose);
  notes.push(() => {
    note.hidden = !byCycle(section);
    whose.hidden = note.hidden || !section.normal || !state.normal;
  });
  if (section.panels.some((p) => p.curves.some((c) => c.side))) {
    const key = document.createElement("p");
    key.className = "key";
    const sides = new Set(section.panels.flatMap((p) => p.curves.map((c) => c.side)));
    for (const side of ["r", "l"].filter((one) => sides.has(one))) {
      const one = document.createElement("span"), line = document.createElement("i");
      line.style.borderTopColor = `var(--${said[side]})`;
      if (side === "l") line.style.borderTopStyle = "dashed";
      one.append(line, said[side]);
      key.append(one);
    }
    grid.before(key);
  }
  const groups = new Map(section.panels.flatMap((p) => p.curves).filter((c) => c.color != null).map((c) => [c.name, c]));
  if (groups.size) {
    const key = document.createElement("p");
    key.className = "key";
    for (const [name, curve] of groups) {
      const one = document.createElement("span"), line = document.createElement("i");
      line.style.borderTopColor = colourOf(curve);
      one.append(line, name);
      key.append(one);
    }
    grid.before(key);
  }
  for (const panel of section.panels) {
    const box = document.createElement("div"), head = document.createElement("h3"), unit = document.createElement("span");
    const plot = document.createElement("div");
    box.className = "panel"; plot.className = "plot";
    head.textContent = panel.title;
    unit.textContent = panel.unit;
    head.append(unit);
    box.append(head, plot);
    box.dataset.names = (panel.title + " " + panel.curves.map((c) => c.name).join(" ")).toLowerCase();
    drawn.set(box, { panel, section });
    savers(box);
    grid.append(box);
    soon.observe(box);
  }
  // on a phone a long section shows its first panels, and the rest when asked
  if (grid.children.length > FEW) {
    grid.classList.add("long");
    grid.classList.toggle("many", grid.children.length > 24);
    const more = document.createElement("button");
    more.className = "more";
    more.textContent = `show all ${grid.children.length}`;
    more.addEventListener("click", () => { grid.classList.remove("long"); more.remove(); });
    grid.after(more);
  }
  const filter = grid.closest("section").querySelector(".filter");
  filter?.addEventListener("input", () => {
    grid.classList.toggle("filtered", Boolean(filter.value.trim()));
    for (const box of grid.children) box.hidden = !box.dataset.names.includes(filter.value.trim().toLowerCase());
  });
}

for (const grid of document.querySelectorAll(".bars")) {
  const section = data.sections[Number(grid.dataset.section)];
  for (const panel of section.bars) {
    const box = document.createElement("div"), head = document.createElement("h3"), plot = document.createElement("div");
    box.className = "panel wide"; plot.className = "plot";
    head.textContent = panel.title;
    head.append(document.createElement("span"));
    box.append(head, plot);
    drawn.set(box, { panel, section });
    savers(box);
    grid.append(box);
    soon.observe(box);
  }
}

// --- scene ---------------------------------------------------------------------------------------------------------
const frame = document.querySelector("#scene iframe");
if (frame) {
  new IntersectionObserver((seen, watch) => {
    if (seen.some((one) => one.isIntersecting)) {
      watch.disconnect();
      frame.addEventListener("load", themeScene);
      unzip("scene-data").then((scene) => { frame.srcdoc = scene; });
    }
  }, { rootMargin: "600px" }).observe(frame);
}

// --- a phone ---------------------------------------------------------------------------------------------------------
// Sections after the second one with plots are closed there until they are asked for.
const later = parts.filter((one) => one.id !== "summary").slice(2);
for (const one of later) {
  one.classList.add("shut");
  const button = document.createElement("button");
  button.className = "unfold";
  button.textContent = "show";
  button.setAttribute("aria-label", `Show ${one.querySelector("h2").textContent}`);
  button.addEventListener("click", () => one.classList.remove("shut"));
  one.querySelector("h2").append(button);
}
for (const link of document.querySelectorAll("nav a")) {
  link.addEventListener("click", () => document.querySelector(link.getAttribute("href")).classList.remove("shut"));
}

// --- buttons and keys ----------------------------------------------------------------------------------------------
const showNotes = () => { for (const show of notes) show(); };
showNotes();
const toggle = (id, field) => {
  const button = document.getElementById(id);
  if (!button) return;
  button.hidden = false;
  button.setAttribute("aria-pressed", String(state[field]));
  button.addEventListener("click", () => {
    state[field] = !state[field];
    button.setAttribute("aria-pressed", String(state[field]));
    showNotes();
    redraw();
  });
};
toggle("axis", "percent");
toggle("normal", "normal");
toggle("per-mass", "perMass");
document.getElementById("theme").addEventListener("click", () => {
  const next = root.dataset.theme === "dark" ? "light" : "dark";
  try { localStorage.setItem("musculo-theme", next); } catch { /* a page from a file may have no storage */ }
  setTheme(next);
});
document.getElementById("print").addEventListener("click", () => plotly().then(() => print()));
// Paper is light and of another width: plots are drawn in light colours and scale with their cards.
let before = "";
const plots = () => document.querySelectorAll(".plot .main-svg");
// The browser waits for nothing: all is drawn within the event, which needs the library to be there.
(window.requestIdleCallback || setTimeout)(plotly);
addEventListener("beforeprint", () => {
  before = root.dataset.theme;
  root.dataset.theme = "light";
  state.paper = true;
  if (!window.Plotly) return;
  for (const box of drawn.keys()) {
    if (box.closest("details:not([open])")) continue;
    soon.unobserve(box);
    paint(box, window.Plotly);
  }
  for (const svg of plots()) svg.setAttribute("viewBox", `0 0 ${svg.getAttribute("width")} ${svg.getAttribute("height")}`);
});
addEventListener("afterprint", () => {
  for (const svg of plots()) svg.removeAttribute("viewBox");
  root.dataset.theme = before;
  state.paper = false;
  // each is drawn for the screen again when it comes into view
  for (const box of drawn.keys()) {
    delete box.dataset.drawn;
    soon.observe(box);
  }
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /input|textarea/i.test(event.target.tagName)) return;
  const press = { c: "axis", k: "per-mass", d: "theme", r: "normal" }[event.key];
  if (press) document.getElementById(press)?.click();
  const step = { j: 1, n: 1, p: -1 }[event.key] || 0;
  if (step) {
    const tops = parts.map((s) => s.getBoundingClientRect().top - 80);
    const here = tops.filter((top) => top < 5).length - 1;
    const next = parts[Math.min(parts.length - 1, Math.max(0, here + step))];
    next.classList.remove("shut");
    next.scrollIntoView();
    next.focus({ preventScroll: true });
  }
});
const where = new IntersectionObserver((seen) => {
  for (const one of seen) {
    const link = document.querySelector(`nav a[href="#${one.target.id}"]`);
    link?.classList.toggle("here", one.isIntersecting);
    if (link && one.isIntersecting) link.parentElement.scrollTo({ left: link.offsetLeft - link.parentElement.offsetLeft - 40 });
  }
}, { rootMargin: "-30% 0px -60% 0px" });
for (const part of parts) where.observe(part);

root.dataset.theme = wanted() || (dark.matches ? "dark" : "light");
