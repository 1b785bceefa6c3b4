// The curve of what is chosen, with a cursor that moves with time.
import { element } from "./element.js";

const W = 400, H = 170, LEFT = 46, RIGHT = 12, TOP = 10, BOTTOM = 26;

/** Round values between two, and their step. */
function ticks(low, high, count) {
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((k) => k * power).find((s) => s >= raw) ?? raw;
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return { found, step };
}

const tidy = (x) => String(Number(x.toPrecision(4)));
/** A tick with the digits that tell it from the next. */
const ticked = (x, step) => String(Number(x.toFixed(Math.min(12, Math.max(0, 1 - Math.floor(Math.log10(step)))))));

export class Plot {
  constructor(time, start, onSeek, onClose) {
    Object.assign(this, { time, start, onSeek });
    this.name = element("strong");
    this.value = element("output", { class: "mv-value" });
    this.choices = element("div", { class: "mv-choices", role: "group", "aria-label": "quantity" });
    this.svg = element("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "data-plot": "" });
    const close = element("button", { class: "mv-icon", "aria-label": "Close the curve", title: "Close (Esc)", onclick: onClose }, "✕");
    this.root = element(
      "section", { class: "mv-card mv-plot", hidden: true, "aria-label": "curve" },
      element("header", {}, this.name, this.choices, this.value, close), this.svg,
    );
    const seek = (event) => {
      const box = this.svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * W;
      const span = this.time[this.time.length - 1] || 1;
      this.onSeek(Math.min(span, Math.max(0, ((x - LEFT) / (W - LEFT - RIGHT)) * span)));
    };
    this.svg.addEventListener("pointerdown", (event) => { this.svg.setPointerCapture(event.pointerId); seek(event); });
    this.svg.addEventListener("pointermove", (event) => event.buttons && seek(event));
  }

  /** Show the series of one name; the first, or the one of the quantity shown before. */
  show(series) {
    const chosen = series.find((s) => s.quantity === this.quantity) ?? series[0];
    this.root.hidden = false;
    this.name.textContent = chosen.name;
    this.choices.replaceChildren(...(series.length < 2 ? [element("small", {}, chosen.quantity)] : series.map((s) => element(
      "button", { "aria-pressed": String(s === chosen), onclick: () => { this.quantity = s.quantity; this.show(series); } }, s.quantity,
    ))));
    this.draw(chosen);
    this.moveTo(this.at ?? 0);
  }

  hide() {
    this.root.hidden = true;
    this.series = null;
  }

  draw(series) {
    this.series = series;
    const v = series.values.values;
    let low = Infinity, high = -Infinity;
    for (const x of v) if (x === x) { if (x < low) low = x; if (x > high) high = x; }
    if (low > high) [low, high] = [0, 1];
    if (series.quantity === "activation") [low, high] = [Math.min(0, low), Math.max(1, high)];
    // A curve that stays where it is, or one frame, lies in the middle of a tenth of its value.
    const most = Math.max(Math.abs(low), Math.abs(high));
    const pad = high - low > 1e-6 * most ? 0.06 * (high - low) : 0.05 * most || 1;
    if (series.quantity !== "activation") { low -= pad; high += pad; }
    const span = this.time[this.time.length - 1];
    this.x = (t) => LEFT + (W - LEFT - RIGHT) * (span > 0 ? t / span : 0.5);
    this.y = (value) => H - BOTTOM - ((H - TOP - BOTTOM) * (value - low)) / (high - low);
    const parts = [];
    const { found, step } = ticks(low, high, 4);
    for (const value of found) {
      const y = this.y(value);
      parts.push(element("line", { class: "mv-grid", x1: LEFT, x2: W - RIGHT, y1: y, y2: y }));
      parts.push(element("text", { class: "mv-tick", x: LEFT - 6, y: y + 3.5, "text-anchor": "end" }, ticked(value, step)));
    }
    // One frame has no axis of time.
    const times = span > 0 ? ticks(this.start, this.start + span, 5) : { found: [] };
    times.found.forEach((t, k) => {
      const [x, words] = [this.x(t - this.start), ticked(t, times.step)];
      parts.push(element("text", { class: "mv-tick", x, y: H - 9, "text-anchor": "middle" }, k ? words : `${words} s`));
    });
    let d = "";
    let pen = false;
    for (let k = 0; k < v.length; k++) {
      if (v[k] !== v[k]) { pen = false; continue; }
      d += `${pen ? "L" : "M"}${this.x(this.time[k]).toFixed(1)} ${this.y(v[k]).toFixed(1)}`;
      pen = true;
    }
    this.cursor = element("line", { class: "mv-cursor", y1: TOP, y2: H - BOTTOM });
    this.dot = element("circle", { class: "mv-dot", r: 4 });
    this.svg.replaceChildren(...parts, element("path", { class: "mv-curve", d }), this.cursor, this.dot);
    this.svg.setAttribute("aria-label", `${series.name}: ${series.quantity} over time`);
  }

  moveTo(t, at) {
    this.at = t;
    if (!this.series) return;
    const v = this.series.values.values;
    const { i, share } = at ?? this.place ?? { i: 0, share: 0 };
    this.place = { i, share };
    const value = share ? v[i] + share * (v[i + 1] - v[i]) : v[i];
    const known = value === value;
    this.cursor.setAttribute("x1", this.x(t));
    this.cursor.setAttribute("x2", this.x(t));
    this.dot.setAttribute("visibility", known ? "visible" : "hidden");
    if (known) {
      this.dot.setAttribute("cx", this.x(t));
      this.dot.setAttribute("cy", this.y(value));
    }
    this.value.textContent = known ? `${tidy(value)}${this.series.unit ? ` ${this.series.unit}` : ""}` : "no value";
  }
}
