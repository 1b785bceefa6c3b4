// Muscles, coordinates and marker errors by name, to search and choose from.
import { element } from "./element.js";

const GROUPS = [["muscle", "Muscles"], ["path", "Other paths"], ["coordinate", "Coordinates"], ["marker", "Marker errors"]];

export class List {
  constructor(series, onChoose) {
    this.onChoose = onChoose;
    this.entries = new Map();
    for (const s of series) {
      const key = `${s.kind}\u0000${s.name}`;
      if (!this.entries.has(key)) this.entries.set(key, { kind: s.kind, name: s.name, series: [] });
      this.entries.get(key).series.push(s);
    }
    this.search = element("input", {
      type: "search", placeholder: "Search names", "aria-label": "Search muscles and coordinates",
      oninput: () => this.filter(), spellcheck: "false", autocomplete: "off",
    });
    this.body = element("div", { class: "mv-names", role: "group", "aria-label": "Names, to choose a curve" });
    for (const [kind, title] of GROUPS) {
      const found = [...this.entries.values()].filter((entry) => entry.kind === kind);
      if (!found.length) continue;
      this.body.append(element("h2", { "data-kind": kind }, `${title} `, element("small", {}, String(found.length))));
      for (const entry of found) {
        entry.button = element(
          "button", { "aria-pressed": "false", onclick: () => onChoose(entry) }, entry.name,
        );
        this.body.append(entry.button);
      }
    }
    this.empty = element("p", { class: "mv-none", hidden: true }, "Nothing of that name.");
    this.body.append(this.empty);
    this.root = element("aside", { class: "mv-list" }, this.search, this.body);
  }

  find(kind, name) {
    return this.entries.get(`${kind}\u0000${name}`);
  }

  mark(entry) {
    for (const other of this.entries.values()) other.button?.setAttribute("aria-pressed", String(other === entry));
    entry?.button?.scrollIntoView({ block: "nearest" });
  }

  filter() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const left = new Set();
    for (const { name, kind, button } of this.entries.values()) {
      const fits = words.every((word) => name.toLowerCase().includes(word));
      button.hidden = !fits;
      if (fits) left.add(kind);
    }
    for (const title of this.body.querySelectorAll("h2")) title.hidden = !left.has(title.dataset.kind);
    this.empty.hidden = left.size > 0;
  }
}
