// Numbers as traces of plots. They come in base64, as float32 or as 16-bit steps between the least and the largest
// value, where 65535 is a gap; nothing is computed here but scales: time to per cent of a cycle, division by the body's
// mass, and means of strides. `report_page.py` puts the files of this folder into one function, in its order.
const data = JSON.parse(document.getElementById("data").textContent);
const root = document.documentElement;
// A walk is looked at by its cycles where those of both feet are known.
const state = { percent: Boolean(data.cycles.r && data.cycles.l), perMass: false, normal: true, paper: false };
const byCycle = (section) => state.percent && !section.byTime;
const unpack = (packed) => {
  const [low, high, text] = Array.isArray(packed) ? packed : [0, 0, packed];
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  if (!Array.isArray(packed)) return new Float32Array(bytes.buffer);
  const step = (high - low) / 65534;
  return Float64Array.from(new Uint16Array(bytes.buffer), (k) => (k === 65535 ? NaN : low + k * step));
};
const times = data.times.map(unpack);
const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
const colour = (side) => css(side === "r" ? "--right" : side === "l" ? "--left" : "--other");
// Of groups: told apart by people who do not see colours, too (Okabe and Ito).
const palette = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#b8a900"];
const colourOf = (curve) => (curve.color == null ? colour(curve.side) : palette[curve.color % palette.length]);
const said = { r: "right", l: "left" };
const FEW = 8; // panels of a section on a phone, until more are asked for

const unzip = async (id) => {
  const text = document.getElementById(id).textContent;
  if (!text) return "";
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
};
let library = null;
const plotly = () => (library ||= unzip("plotly").then((text) => {
  const code = document.createElement("script");
  code.textContent = text;
  document.head.append(code);
  return window.Plotly;
}));
// a side is shown over its own cycles only; what has no side, over those of the right
const cyclesOf = (side) => data.cycles[side] || (side ? [] : data.cycles.r || data.cycles.l || []);

// One trace a curve; in per cent of the cycle, the cycles of its side one after the other with gaps between.
const trace = (curve, section) => {
  const x = curve.x ? (curve.xs ||= unpack(curve.x)) : times[curve.t];
  const y = (curve.ys ||= unpack(curve.y));
  const scale = state.perMass && section.per_mass ? 1 / data.mass : 1;
  let xs = [], ys = [];
  if (byCycle(section)) {
    const marks = cyclesOf(curve.side);
    for (let k = 0; k + 1 < marks.length; k++) {
      for (let i = 0; i < x.length; i++) {
        if (x[i] >= marks[k] && x[i] <= marks[k + 1]) {
          xs.push(100 * (x[i] - marks[k]) / (marks[k + 1] - marks[k]));
          ys.push(y[i] * scale);
        }
      }
      xs.push(null); ys.push(null);
    }
  } else {
    xs = Array.from(x); ys = Array.from(y, (v) => v * scale);
  }
  // a line needs two neighbours: a point between gaps would not be seen
  const there = (k) => Number.isFinite(xs[k]) && Number.isFinite(ys[k]);
  const alone = xs.some((_, k) => there(k) && !there(k - 1) && !there(k + 1));
  const line = { color: colourOf(curve), width: 2, dash: curve.side === "l" ? "5px,3px" : "solid" };
  const area = { fill: "tozeroy", fillcolor: colourOf(curve) + "2a", line: { ...line, width: 0.5, dash: "solid" } };
  return {
    x: xs, y: ys, name: curve.measured ? curve.name : said[curve.side] || curve.name, mode: alone ? "lines+markers" : "lines", connectgaps: false,
    marker: { size: 6, color: colourOf(curve) },
    line, ...(curve.measured ? area : {}),
    hovertemplate: "%{y:.4g}",
  };
};
// In per cent of the cycle: each stride thin, their mean and standard deviation where there are three or more.
const strides = (curve, section) => {
  const whole = trace(curve, section), cut = [];
  let xs = [], ys = [];
  whole.x.forEach((x, k) => {
    if (x === null) { if (xs.length > 1) cut.push([xs, ys]); xs = []; ys = []; } else { xs.push(x); ys.push(whole.y[k]); }
  });
  if (cut.length < 3 && !curve.measured) return [whole];
  const grid = Array.from({ length: 101 }, (_, k) => k);
  const at = ([x, y]) => {
    let k = 0;
    return grid.map((g) => {
      while (k < x.length - 2 && x[k + 1] < g) k++;
      const part = x[k + 1] > x[k] ? Math.min(1, Math.max(0, (g - x[k]) / (x[k + 1] - x[k]))) : 0;
      return y[k] + part * (y[k + 1] - y[k]);
    });
  };
  const rows = cut.map(at), n = rows.length;
  const mean = grid.map((g) => rows.reduce((sum, row) => sum + row[g], 0) / n);
  if (curve.measured) return [{ ...whole, x: grid, y: mean, mode: "lines" }];  // one area, however many strides
  const sd = grid.map((g) => Math.sqrt(rows.reduce((sum, row) => sum + (row[g] - mean[g]) ** 2, 0) / (n - 1)));
  const edge = (sign) => ({ x: grid, y: mean.map((v, k) => v + sign * sd[k]), mode: "lines", hoverinfo: "skip",
    line: { width: 0, color: colourOf(curve) }, showlegend: false });
  return [
    edge(1), { ...edge(-1), fill: "tonexty", fillcolor: colourOf(curve) + "22" },
    { ...whole, mode: "lines", line: { ...whole.line, width: 0.6 }, opacity: 0.5, hoverinfo: "skip", hovertemplate: undefined },
    { ...whole, x: grid, y: mean, mode: "lines", name: `${whole.name}, mean of ${n}` },
  ];
};
// What is normal, behind the curves of a cycle.
const normal = (panel, section) => {
  if (!panel.normal || !state.normal || !byCycle(section)) return [];
  const scale = state.perMass && section.per_mass ? 1 / data.mass : 1;
  const x = Array.from(unpack(panel.normal.x)), parts = [];
  const edges = ["low", "high"].map((name) => Array.from(unpack(panel.normal[name]), (v) => v * scale));
  // a polygon a part: one filled to the next does not know gaps
  for (let a = 0, k = 0; k <= x.length; k++) {
    if (k < x.length && Number.isFinite(edges[0][k])) continue;
    if (k > a) {
      const at = Array.from({ length: k - a }, (_, i) => a + i), back = [...at].reverse();
      parts.push({ x: [...at, ...back].map((i) => x[i]), y: [...at.map((i) => edges[0][i]), ...back.map((i) => edges[1][i])],
        fill: "toself", fillcolor: css("--normal"), mode: "lines", line: { width: 0, color: css("--soft") }, hoverinfo: "skip", name: "normal range" });
    }
    a = k + 1;
  }
  return parts;
};
// The band around a curve: two lines that are not seen, and what is between them.
const band = (curve) => {
  if (!curve.spread) return [];
  const x = Array.from(times[curve.t]), y = (curve.ys ||= unpack(curve.y)), s = (curve.spreads ||= unpack(curve.spread));
  const edge = (sign) => ({ x, y: Array.from(y, (v, k) => v + sign * s[k]), mode: "lines", hoverinfo: "skip",
    line: { width: 0, color: colourOf(curve) }, showlegend: false });
  return [edge(1), { ...edge(-1), fill: "tonexty", fillcolor: colourOf(curve) + "33" }];
};
