// Plots with their axes, and what is saved of them.
// --- theme ---------------------------------------------------------------------------------------------------------
const wanted = () => { try { return localStorage.getItem("musculo-theme"); } catch { return null; } };
const dark = matchMedia("(prefers-color-scheme: dark)");
const setTheme = (theme) => { root.dataset.theme = theme; themeScene(); return redraw(); };
// The 3D view turns over by its own key.
const themeScene = () => {
  const inner = document.querySelector("#scene iframe")?.contentDocument, scene = inner?.querySelector(".mv[data-theme]");
  if (scene && scene.dataset.theme !== root.dataset.theme) inner.dispatchEvent(new KeyboardEvent("keydown", { key: "d" }));
};
let drawn = new Map();

// Limits as dashed lines, and times that are not judged as shaded parts; in per cent of a cycle times have no place.
const shapes = (panel, section) => {
  const lines = panel.limit ? [panel.limit, -panel.limit].map((y) => ({
    type: "line", xref: "paper", x0: 0, x1: 1, y0: y, y1: y, line: { color: css("--look"), width: 1, dash: "dash" },
  })) : [];
  const parts = byCycle(section) ? [] : (panel.notJudged || []).map(([x0, x1]) => ({
    type: "rect", yref: "paper", y0: 0, y1: 1, x0, x1, fillcolor: css("--soft"), opacity: 0.18, layer: "below",
    line: { width: x1 > x0 ? 0 : 2, color: css("--soft") },
  }));
  // where each foot leaves the ground
  const sides = new Set(panel.curves.map((c) => c.side || (data.cycles.r ? "r" : "l")));
  const offs = !byCycle(section) || panel.across ? [] : Object.entries(data.stance).filter(([side]) => sides.has(side)).map(([side, x]) => ({
    type: "line", yref: "paper", y0: 0, y1: 1, x0: x, x1: x, line: { color: colour(side), width: 1, dash: "dot" },
  }));
  return [...lines, ...parts, ...offs];
};
const layout = (panel, section, traces) => {
  const percent = byCycle(section);
  // a plot without a curve says why
  const empty = !traces.some((one) => one.y.some((v) => Number.isFinite(v)));
  const axis = { gridcolor: css("--grid"), zerolinecolor: css("--soft"), zerolinewidth: 1, color: css("--soft") };
  return {
    // Wide enough for every label; margins that fit themselves are measured anew at every change.
    margin: { l: 50, r: 16, t: 8, b: 34 }, showlegend: false, hovermode: "x unified",
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif", size: 11, color: css("--ink") },
    hoverlabel: { bgcolor: css("--card"), bordercolor: css("--line"), font: { color: css("--ink") } },
    xaxis: {
      ...axis, zeroline: false, title: { text: panel.across || (percent ? "% of gait cycle" : "time [s]"), standoff: 4 },
      hoverformat: percent ? ".1f" : ".3f",
      ...(percent && !panel.across ? { range: [0, 100], tickvals: [0, 20, 40, 60, 80, 100], ticktext: ["0", "20", "40", "60", "80", "100"] } : { autorange: true }),
    },
    yaxis: panel.range ? { ...axis, range: panel.range } : axis,
    shapes: shapes(panel, section),
    annotations: empty ? [{ text: "no cycle of this side is known", showarrow: false, xref: "paper", yref: "paper", x: 0.5, y: 0.5 }] : [],
  };
};
const barColours = ["--right", "--left", "--other"];
const barTraces = (panel) => Object.entries(panel.series).map(([label, values], k) => ({
  type: "bar", x: panel.names, base: panel.base, y: values.map((v) => (v === null ? null : v - panel.base)), name: label,
  customdata: values, marker: { color: css(barColours[k % barColours.length]) },
  hovertemplate: "%{customdata:.4g}",
}));
// a name of many letters would leave no room for its bar
const most = 30;
const shortened = (names) => (names.every((name) => name.length <= most) ? {} : {
  tickvals: names, ticktext: names.map((name) => (name.length > most ? name.slice(0, most - 1) + "…" : name)),
});
const barLayout = (panel) => {
  const axis = { gridcolor: css("--grid"), zerolinecolor: css("--soft"), zerolinewidth: 1, color: css("--soft") };
  const across = (y, line) => ({ type: "line", xref: "paper", x0: 0, x1: 1, y0: y, y1: y, line });
  return {
    margin: { l: 50, r: 16, t: 8, b: 8 }, barmode: "group", bargap: 0.3,
    showlegend: Object.keys(panel.series).length > 1, legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom" },
    hovermode: "x unified", paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif", size: 11, color: css("--ink") },
    hoverlabel: { bgcolor: css("--card"), bordercolor: css("--line"), font: { color: css("--ink") } },
    xaxis: { ...axis, type: "category", automargin: true, tickangle: "auto", ...shortened(panel.names) }, yaxis: axis,
    shapes: [across(panel.base, { color: css("--soft"), width: 1 }),
      ...(panel.line ? [across(panel.line, { color: css("--look"), width: 1.5, dash: "dash" })] : [])],
  };
};
const unitOf = (panel, section) => panel.unit + (state.perMass && section.per_mass ? "/kg" : "") +
  (panel.positive ? `, ${panel.positive} +` : "");
// A figure as a picture, or its numbers as they are drawn.
const save = async (box, kind) => {
  const { panel, section } = drawn.get(box), plot = box.querySelector(".plot"), library = await plotly();
  if (!box.dataset.drawn) await draw(box);
  const name = (panel.title || "figure").replace(/[^\w.-]+/g, "_");
  if (kind !== "csv") return library.downloadImage(plot, { format: kind, filename: name, width: 640, height: 420, scale: kind === "png" ? 3 : 1 });
  const rows = [["curve", panel.names ? "name" : panel.across || (byCycle(section) ? "percent of cycle" : "time"), panel.unit]];
  for (const one of plot.data) {
    if (one.hoverinfo === "skip") continue;
    one.x.forEach((x, k) => { if (x !== null) rows.push([one.name, x, (one.customdata || one.y)[k]]); });
  }
  const quoted = (cell) => (/[",\n]/.test(String(cell)) ? `"${String(cell).replaceAll('"', '""')}"` : cell ?? "");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([rows.map((row) => row.map(quoted).join(",")).join("\n") + "\n"], { type: "text/csv" }));
  link.download = `${name}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};
const savers = (box) => {
  const menu = document.createElement("div");
  menu.className = "save";
  for (const kind of ["svg", "png", "csv"]) {
    const button = document.createElement("button");
    button.textContent = kind.toUpperCase();
    button.title = kind === "csv" ? "Save the numbers" : "Save the figure";
    button.addEventListener("click", () => save(box, kind));
    menu.append(button);
  }
  box.append(menu);
};
const draw = async (box) => paint(box, await plotly());
const paint = (box, library) => {
  const { panel, section } = drawn.get(box);
  box.querySelector("h3 span").textContent = unitOf(panel, section);
  const traces = panel.names ? barTraces(panel) : [...normal(panel, section), ...panel.curves.flatMap(band),
    ...panel.curves.flatMap((c) => (byCycle(section) && !panel.across ? strides(c, section) : [trace(c, section)]))];
  // on paper figures are pictures of one size, which scale with their cards
  const size = state.paper ? { width: panel.names ? 900 : 320, height: panel.names ? 260 : 200 } : { autosize: true };
  library.react(box.querySelector(".plot"), traces,
    { ...(panel.names ? barLayout(panel) : layout(panel, section, traces)), ...size },
    { responsive: !state.paper, displayModeBar: false });
  box.dataset.drawn = "yes";
};
// Which cycle is shown, and why a side is not: nothing goes away without a word.
const cycleNote = (sides) => {
  const parts = [...sides].sort().reverse().filter((side) => side).map((side) => {
    const marks = cyclesOf(side);
    if (!marks.length) return `${said[side]}: not shown, since ${data.missing[side] || "no cycle of that side is known"}`;
    return `${said[side]}: ` + marks.slice(1).map((end, k) => `${mark(marks[k])} to ${mark(end)} s`).join(", ");
  });
  if (sides.has("")) {
    const side = data.cycles.r ? "r" : "l";
    parts.push(`curves without a side: over the cycle of the ${said[side]}` + (sides.has(side) ? "" :
      ", " + cyclesOf(side).slice(1).map((end, k) => `${mark(cyclesOf(side)[k])} to ${mark(end)} s`).join(", ")));
  }
  return `Cycle, from strike to strike of a foot: ${parts.join("; ")}.`;
};
const mark = (time) => String(Number(time.toPrecision(4)));
const redraw = () => Promise.all([...drawn.keys()].filter((box) => box.dataset.drawn).map(draw));

