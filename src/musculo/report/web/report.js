"use strict";
// Draws the curves of the report when they come into view. Numbers come in base64, as float32 or as
// 16-bit steps between the least and the largest value, where 65535 is a gap; nothing is computed here
// but scales: time to per cent of a cycle, and division by the body's mass.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const state = { percent: false, perMass: false };
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

  // --- plots ---------------------------------------------------------------------------------------------------------
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
    if (state.percent) {
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
    return {
      x: xs, y: ys, name: said[curve.side] || curve.name, mode: alone ? "lines+markers" : "lines", connectgaps: false,
      marker: { size: 6, color: colourOf(curve) },
      line: { color: colourOf(curve), width: 2, dash: curve.side === "l" ? "5px,3px" : "solid" },
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
    if (cut.length < 3) return [whole];
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
    const sd = grid.map((g) => Math.sqrt(rows.reduce((sum, row) => sum + (row[g] - mean[g]) ** 2, 0) / (n - 1)));
    const edge = (sign) => ({ x: grid, y: mean.map((v, k) => v + sign * sd[k]), mode: "lines", hoverinfo: "skip",
      line: { width: 0, color: colourOf(curve) }, showlegend: false });
    return [
      edge(1), { ...edge(-1), fill: "tonexty", fillcolor: colourOf(curve) + "22" },
      { ...whole, mode: "lines", line: { ...whole.line, width: 0.6 }, opacity: 0.5, hoverinfo: "skip", hovertemplate: undefined },
      { ...whole, x: grid, y: mean, mode: "lines", name: `${whole.name}, mean of ${n}` },
    ];
  };
  // The band around a curve: two lines that are not seen, and what is between them.
  const band = (curve) => {
    if (!curve.spread) return [];
    const x = Array.from(times[curve.t]), y = (curve.ys ||= unpack(curve.y)), s = (curve.spreads ||= unpack(curve.spread));
    const edge = (sign) => ({ x, y: Array.from(y, (v, k) => v + sign * s[k]), mode: "lines", hoverinfo: "skip",
      line: { width: 0, color: colourOf(curve) }, showlegend: false });
    return [edge(1), { ...edge(-1), fill: "tonexty", fillcolor: colourOf(curve) + "33" }];
  };
  // Limits as dashed lines, and times that are not judged as shaded parts; in per cent of a cycle times have no place.
  const shapes = (panel) => {
    const lines = panel.limit ? [panel.limit, -panel.limit].map((y) => ({
      type: "line", xref: "paper", x0: 0, x1: 1, y0: y, y1: y, line: { color: css("--look"), width: 1, dash: "dash" },
    })) : [];
    const parts = state.percent ? [] : (panel.notJudged || []).map(([x0, x1]) => ({
      type: "rect", yref: "paper", y0: 0, y1: 1, x0, x1, fillcolor: css("--soft"), opacity: 0.18, layer: "below",
      line: { width: x1 > x0 ? 0 : 2, color: css("--soft") },
    }));
    // where each foot leaves the ground
    const sides = new Set(panel.curves.map((c) => c.side || (data.cycles.r ? "r" : "l")));
    const offs = !state.percent || panel.across ? [] : Object.entries(data.stance).filter(([side]) => sides.has(side)).map(([side, x]) => ({
      type: "line", yref: "paper", y0: 0, y1: 1, x0: x, x1: x, line: { color: colour(side), width: 1, dash: "dot" },
    }));
    return [...lines, ...parts, ...offs];
  };
  const layout = (panel, traces) => {
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
        ...axis, zeroline: false, title: { text: panel.across || (state.percent ? "% of gait cycle" : "time [s]"), standoff: 4 },
        hoverformat: state.percent ? ".1f" : ".3f",
        ...(state.percent ? { range: [0, 100], tickvals: [0, 20, 40, 60, 80, 100], ticktext: ["0", "20", "40", "60", "80", "100"] } : { autorange: true }),
      },
      yaxis: panel.range ? { ...axis, range: panel.range } : axis,
      shapes: shapes(panel),
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
    const { panel } = drawn.get(box), plot = box.querySelector(".plot"), library = await plotly();
    if (!box.dataset.drawn) await draw(box);
    const name = (panel.title || "figure").replace(/[^\w.-]+/g, "_");
    if (kind !== "csv") return library.downloadImage(plot, { format: kind, filename: name, width: 640, height: 420, scale: kind === "png" ? 3 : 1 });
    const rows = [["curve", panel.names ? "name" : panel.across || (state.percent ? "percent of cycle" : "time"), panel.unit]];
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
  const draw = async (box) => {
    const { panel, section } = drawn.get(box);
    box.querySelector("h3 span").textContent = unitOf(panel, section);
    const library = await plotly();
    const traces = panel.names ? barTraces(panel) : [...panel.curves.flatMap(band),
      ...panel.curves.flatMap((c) => (state.percent && !panel.across ? strides(c, section) : [trace(c, section)]))];
    library.react(box.querySelector(".plot"), traces, panel.names ? barLayout(panel) : layout(panel, traces),
      { responsive: true, displayModeBar: false });
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

  const notes = [];
  const soon = new IntersectionObserver((seen) => {
    for (const one of seen) if (one.isIntersecting) { soon.unobserve(one.target); draw(one.target); }
  }, { rootMargin: "300px" });

  for (const grid of document.querySelectorAll(".panels")) {
    const section = data.sections[Number(grid.dataset.section)];
    const all = new Set(section.panels.flatMap((p) => p.curves.map((c) => c.side)));
    const note = document.createElement("p");
    note.className = "cycle";
    note.hidden = true;
    note.textContent = Object.keys(data.cycles).length ? cycleNote(all) : "";
    grid.before(note);
    notes.push(note);
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

  // --- buttons and keys ----------------------------------------------------------------------------------------------
  const toggle = (id, field) => {
    const button = document.getElementById(id);
    if (!button) return;
    button.hidden = false;
    button.addEventListener("click", () => {
      state[field] = !state[field];
      button.setAttribute("aria-pressed", String(state[field]));
      for (const note of notes) note.hidden = !state.percent;
      redraw();
    });
  };
  toggle("axis", "percent");
  toggle("per-mass", "perMass");
  document.getElementById("theme").addEventListener("click", () => {
    const next = root.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("musculo-theme", next); } catch { /* a page from a file may have no storage */ }
    setTheme(next);
  });
  const drawAll = () => Promise.all([...drawn.keys()].filter((box) => !box.dataset.drawn).map((box) => {
    soon.unobserve(box);
    return draw(box);
  }));
  document.getElementById("print").addEventListener("click", () => plotly().then(() => print()));
  // Paper is light and of another width: plots are drawn in light colours and scale with their cards.
  let before = "";
  const plots = () => document.querySelectorAll(".plot .main-svg");
  addEventListener("beforeprint", async () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    await Promise.all([redraw(), drawAll()]);
    for (const svg of plots()) svg.setAttribute("viewBox", `0 0 ${svg.getAttribute("width")} ${svg.getAttribute("height")}`);
  });
  addEventListener("afterprint", () => {
    for (const svg of plots()) svg.removeAttribute("viewBox");
    root.dataset.theme = before;
    redraw();
  });
  const parts = [...document.querySelectorAll("main > section")];
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /input|textarea/i.test(event.target.tagName)) return;
    const press = { c: "axis", k: "per-mass", d: "theme" }[event.key];
    if (press) document.getElementById(press)?.click();
    const step = { j: 1, n: 1, p: -1 }[event.key] || 0;
    if (step) {
      const tops = parts.map((s) => s.getBoundingClientRect().top - 80);
      const here = tops.filter((top) => top < 5).length - 1;
      const next = parts[Math.min(parts.length - 1, Math.max(0, here + step))];
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
})();
