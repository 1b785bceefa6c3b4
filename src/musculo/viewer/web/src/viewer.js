// One scene on one page: puts the parts together and answers to the reader.
import * as THREE from "three";
import { decoded, firstKnown, mixedRow, width } from "./arrays.js";
import { activationGradient, UNKNOWN } from "./colours.js";
import { element } from "./element.js";
import { floorOf } from "./floor.js";
import { List } from "./list.js";
import { Arrows, ERROR, Markers, MEASURED_MARKER, MODEL_MARKER } from "./marks.js";
import { Player } from "./player.js";
import { Plot } from "./plot.js";
import { addBones, addWraps } from "./solids.js";
import { Stage } from "./stage.js";
import { travels } from "./travels.js";
import { Triad } from "./triad.js";
import { Tubes } from "./tubes.js";

const FORMAT = 1;
const LOAD = "#0a8a5f", REACTION = "#7b4fc9";
const VIEWS = { home: [0.62, 0.22, 1.0], front: [1, 0.05, 0], side: [0, 0.05, 1], top: [0.001, 1, 0] };
const HELP = "Drag to orbit, right-drag to pan, scroll to zoom. Space plays, P saves a picture, V a video, ← → step a frame (Shift: ten), R resets, F S T look from front, side, top, ? shows this.";

export class Viewer {
  static async mount(root, packed) {
    if (packed.format !== FORMAT) throw new Error(`a scene of format ${packed.format}; this page draws format ${FORMAT}`);
    return new Viewer(root, await decoded(packed));
  }

  constructor(root, scene) {
    this.scene = scene;
    this.shown = {};
    this.follow = true;
    this.selected = null;
    this.times = scene.time.values;
    this.buildPage(root);
    this.buildStage();
    this.player.seek(0);
    this.surround(this.bones);
    // Opened where muscles have colours.
    if (scene.muscles.activation) this.player.seek(this.times[firstKnown(scene.muscles.activation)]);
    new ResizeObserver(() => this.resize()).observe(this.area);
    this.resize();
    this.listen(root);
  }

  // --- the page ----------------------------------------------------------------------------------------------------
  buildPage(root) {
    const { scene } = this;
    this.canvas = element("canvas", { tabindex: 0, "aria-label": `${scene.title} in three dimensions. ${HELP}` });
    this.player = new Player(this.times, scene.start, (t, place) => this.moveTo(t, place));
    this.plot = new Plot(this.times, scene.start, (t) => { this.player.pause(); this.player.seek(t); }, () => this.choose(null));
    this.list = new List(scene.series, (entry) => this.choose(entry));
    this.triad = new Triad();
    this.tip = element("div", { class: "mv-tip", hidden: true });
    this.label = element("div", { class: "mv-tip mv-label", hidden: true });
    this.toggles = element("div", { class: "mv-toggles", role: "group", "aria-label": "What is shown" });
    this.legend = element("div", { class: "mv-legend" });
    const span = this.times[this.times.length - 1];
    const what = this.times.length > 1 ? `${scene.frames.total} frames, ${Number(span.toPrecision(3))} s` : "one pose";
    const icon = (sign, title, onclick) => element("button", { class: "mv-icon", title, "aria-label": title, onclick }, sign);
    const head = element(
      "section", { class: "mv-card mv-head" },
      element("h1", {}, scene.title), element("p", {}, [scene.source, what].filter(Boolean).join(" · ")), this.toggles, this.legend,
      scene.notes.length ? element("details", {}, element("summary", {}, scene.notes.length === 1 ? "1 note" : `${scene.notes.length} notes`), ...scene.notes.map((note) => element("p", {}, note))) : null,
    );
    const tools = element(
      "nav", { class: "mv-tools", "aria-label": "View" },
      icon("⌂", "Reset the view (R)", () => this.reset("home")), icon("◐", "Light or dark (D)", () => this.theme()),
      icon("☰", "Show or hide the names (N)", () => this.showList()),
      icon("▣", "Save a picture (P)", () => this.savePicture()),
      this.times.length > 1 ? (this.videoButton = icon("●", "Save a video of the motion (V)", () => this.saveVideo())) : null,
      icon("?", HELP, () => this.showHelp()),
    );
    this.help = element("p", { class: "mv-card mv-help", hidden: true }, HELP);
    this.area = element("main", { class: "mv-area" }, this.canvas, head, tools, this.help, this.triad.root, this.plot.root, this.player.root, this.tip, this.label);
    this.root = element("div", { class: "mv" }, this.area, this.list.root);
    root.replaceChildren(this.root);
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    this.root.dataset.theme = dark.matches ? "dark" : "light";
    dark.addEventListener("change", () => this.theme(dark.matches ? "dark" : "light"));
    this.showList(root.clientWidth > 760 && this.list.entries.size > 0);
  }

  addToggle(name, title, on, apply) {
    const set = (value) => {
      this.shown[name] = value;
      button.setAttribute("aria-pressed", String(value));
      apply(value);
      this.stage.moved();
      this.draw();
    };
    const button = element("button", { "aria-pressed": String(on), "data-toggle": name, onclick: () => set(!this.shown[name]) }, title);
    this.toggles.append(button);
    set(on);
  }

  theme(name) {
    this.root.dataset.theme = name ?? (this.root.dataset.theme === "dark" ? "light" : "dark");
    this.stage.theme(this.root.dataset.theme);
    this.draw();
  }

  showHelp() {
    this.help.hidden = !this.help.hidden;
  }

  showList(on) {
    this.list.root.hidden = on === undefined ? !this.list.root.hidden : !on;
  }

  // --- the stage ---------------------------------------------------------------------------------------------------
  buildStage() {
    const { scene } = this;
    this.bodies = scene.bodies.map(() => new THREE.Group());
    const bones = (this.bones = addBones(scene, this.bodies));
    this.floor = floorOf(scene, bones, this.bodies);
    this.measure();
    this.stage = new Stage(this.canvas, { up: scene.up, size: scene.size, floor: this.floor });
    this.stage.theme(this.root.dataset.theme);
    const three = this.stage.scene;
    three.add(...this.bodies);
    const wraps = addWraps(scene, this.bodies);
    const group = () => { const made = new THREE.Group(); three.add(made); return made; };
    this.rows = {
      p: new Float32Array(width(scene.poses.p)), r: new Float32Array(width(scene.poses.r)),
    };
    const each = (objects) => (on) => objects.forEach((object) => (object.visible = on));
    const { muscles, markers, loads, reactions } = scene;
    if (bones.length) this.addToggle("bones", "bones", true, each(bones));
    if (muscles.names.length) {
      this.tubes = new Tubes(muscles);
      three.add(this.tubes.mesh);
      this.rows.points = new Float32Array(width(muscles.points));
      this.rows.activation = muscles.activation && new Float32Array(width(muscles.activation));
      this.addToggle("muscles", "muscles", true, each([this.tubes.mesh]));
      if (muscles.activation) this.addScale();
    }
    if (wraps.length) this.addToggle("wraps", "wraps", false, each(wraps));
    if (markers.model || markers.measured) {
      const place = group();
      this.markers = new Markers(markers, scene.size, place);
      this.rows.model = markers.model && new Float32Array(width(markers.model));
      this.rows.measured = markers.measured && new Float32Array(width(markers.measured));
      this.addToggle("markers", "markers", Boolean(markers.measured), each([place]));
      if (markers.measured) {
        this.addKey(MEASURED_MARKER, "measured marker");
        if (markers.model) this.addKey(MODEL_MARKER, "model marker");
        if (markers.match.some((k) => k >= 0)) this.addKey(ERROR, "distance between them");
      }
    }
    this.arrows = [];
    for (const [name, title, data, longest, thick, colour, on] of [
      ["loads", "loads", loads, 0.4, 0.0055, LOAD, true], ["reactions", "joint loads", reactions, 0.22, 0.0038, REACTION, false],
    ]) {
      if (!data.names.length) continue;
      const place = group();
      const made = new Arrows(data, longest * scene.size, thick * scene.size, colour, place);
      this.arrows.push({ made, data, point: new Float32Array(3 * data.names.length), force: new Float32Array(3 * data.names.length) });
      const key = this.addKey(colour, `${name === "loads" ? "external load" : "joint reaction"}, largest ${Number(made.most.toPrecision(3))} N`);
      this.addToggle(name, title, on, (value) => { place.visible = value; key.hidden = !value; });
    }
    this.addToggle("ground", "ground", true, each([this.stage.ground]));
    if (this.travels) this.addToggle("follow", "follow", true, (on) => (this.follow = on));
    this.stage.controls.addEventListener("change", () => this.draw());
  }

  addScale() {
    const bar = element("i", { class: "mv-bar" });
    bar.style.background = activationGradient;
    this.legend.append(element("div", { class: "mv-scale" }, "activation ", "0", bar, "1"));
    if (this.scene.muscles.activation.values.some(Number.isNaN)) this.addKey(UNKNOWN, "grey: no data");
  }

  addKey(colour, words) {
    const dot = element("i", { class: "mv-key" });
    dot.style.background = colour;
    const key = element("div", {}, dot, words);
    this.legend.append(key);
    return key;
  }

  /** The box around the joints and paths of the first frame, and whether the model travels. */
  measure() {
    const { poses, muscles, markers, up, size } = this.scene;
    const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
    for (const array of [poses.p, muscles.points, markers.model]) {
      if (!array) continue;
      const n = width(array);
      for (let k = 0; k < n; k++) {
        const x = array.values[k];
        if (x === x) { low[k % 3] = Math.min(low[k % 3], x); high[k % 3] = Math.max(high[k % 3], x); }
      }
    }
    if (low[0] === Infinity) { low.fill(0); high.fill(0); }
    if (this.floor === 0) low[up] = Math.min(low[up], 0);
    const box = new THREE.Box3(new THREE.Vector3(...low), new THREE.Vector3(...high));
    const middle = box.getCenter(new THREE.Vector3());
    this.box = box;
    const first = this.centre(0);
    this.travels = travels(poses, 0.25 * size);
    this.follow = this.travels;
    this.fromCentre = middle.sub(first);
  }

  /** The ball around all that is drawn in the first frame, seen from its middle; call once it is placed. */
  surround(bones) {
    this.stage.scene.updateMatrixWorld(true);
    const one = new THREE.Box3();
    for (const bone of bones) this.box.union(one.setFromObject(bone));
    const middle = this.box.getCenter(new THREE.Vector3());
    this.radius = Math.max(this.box.getSize(new THREE.Vector3()).length() / 2, 0.1 * this.scene.size);
    this.aside = middle.sub(this.stage.last);
  }

  /** The mean place of all bodies in a frame. */
  centre(f, out = new THREE.Vector3()) {
    const { p } = this.scene.poses;
    const n = width(p) / 3;
    out.set(0, 0, 0);
    for (let b = 0; b < n; b++) {
      const k = 3 * (f * n + b);
      out.x += p.values[k] / n; out.y += p.values[k + 1] / n; out.z += p.values[k + 2] / n;
    }
    return out;
  }

  // --- a moment ----------------------------------------------------------------------------------------------------
  moveTo(t, place) {
    const { scene, rows } = this;
    this.place = place;
    mixedRow(scene.poses.p, place, rows.p);
    mixedRow(scene.poses.r, place, rows.r);
    for (let b = 1; b < this.bodies.length; b++) {
      const [k, j] = [3 * (b - 1), 4 * (b - 1)];
      this.bodies[b].position.set(rows.p[k], rows.p[k + 1], rows.p[k + 2]);
      this.bodies[b].quaternion.set(rows.r[j + 1], rows.r[j + 2], rows.r[j + 3], rows.r[j]).normalize();
    }
    if (this.tubes) {
      this.pathsAt(place);
      if (rows.activation) mixedRow(scene.muscles.activation, place, rows.activation);
      this.tubes.update(rows.points, rows.activation);
    }
    if (this.markers) {
      if (rows.model) mixedRow(scene.markers.model, place, rows.model);
      if (rows.measured) mixedRow(scene.markers.measured, place, rows.measured);
      this.markers.update(rows.model, rows.measured);
    }
    for (const { made, data, point, force } of this.arrows) {
      made.update(mixedRow(data.point, place, point), mixedRow(data.force, place, force));
    }
    const a = this.centre(place.i);
    if (place.share) a.lerp(this.centre(place.i + 1), place.share);
    this.stage.moveTo(a.add(this.fromCentre), this.follow);
    this.stage.moved();
    this.plot.moveTo(t, place);
    this.draw();
  }

  /** Paths between two frames: mixed where their points match, else those of the nearer frame. */
  pathsAt(place) {
    const { muscles } = this.scene;
    const out = mixedRow(muscles.points, place, this.rows.points);
    if (!place.share) return;
    const n = muscles.names.length, all = width(muscles.points);
    const layout = muscles.layout.values;
    const near = place.i + (place.share > 0.5 ? 1 : 0);
    for (let m = 0; m < n; m++) {
      if (layout[place.i * n + m] === layout[(place.i + 1) * n + m]) continue;
      const [from, to] = [3 * muscles.first[m], 3 * muscles.first[m + 1]];
      for (let k = from; k < to; k++) out[k] = muscles.points.values[near * all + k];
    }
  }

  // --- choosing ----------------------------------------------------------------------------------------------------
  choose(entry) {
    this.selected = entry;
    this.list.mark(entry);
    if (this.tubes) {
      this.tubes.selected = entry && ["muscle", "path"].includes(entry.kind) ? this.scene.muscles.names.indexOf(entry.name) : -1;
      this.tubes.update(this.rows.points, this.rows.activation);
      this.stage.moved();
    }
    if (entry) this.plot.show(entry.series); else this.plot.hide();
    this.plot.moveTo(this.player.at, this.player.place());
    this.resize();
  }

  muscleAt(event) {
    if (!this.tubes || !this.shown.muscles) return -1;
    const box = this.canvas.getBoundingClientRect();
    const at = new THREE.Vector2((2 * (event.clientX - box.left)) / box.width - 1, 1 - (2 * (event.clientY - box.top)) / box.height);
    const ray = new THREE.Raycaster();
    ray.setFromCamera(at, this.stage.camera);
    const hit = ray.intersectObject(this.tubes.mesh, false)[0];
    return hit ? this.tubes.owner[hit.face.a] : -1;
  }

  entryOf(m) {
    if (m < 0) return null;
    return this.list.find(m < this.scene.muscles.count ? "muscle" : "path", this.scene.muscles.names[m]) ?? null;
  }

  listen(root) {
    let down = null;
    this.canvas.addEventListener("pointerdown", (event) => { down = [event.clientX, event.clientY]; this.tip.hidden = true; });
    this.canvas.addEventListener("pointerup", (event) => {
      // A drag orbits; only a click chooses.
      if (event.button === 0 && down && Math.hypot(event.clientX - down[0], event.clientY - down[1]) < 5) this.choose(this.entryOf(this.muscleAt(event)));
      down = null;
    });
    let waiting = false;
    this.canvas.addEventListener("pointermove", (event) => {
      if (waiting || event.buttons || this.player.playing) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        const m = this.muscleAt(event);
        this.canvas.style.cursor = m < 0 ? "" : "pointer";
        this.tip.hidden = m < 0;
        if (m >= 0) this.put(this.tip, this.scene.muscles.names[m], event.offsetX, event.offsetY);
      });
    });
    this.canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
    root.ownerDocument.addEventListener("keydown", (event) => this.key(event));
    // a button that has the focus would be pressed when the key comes up
    root.ownerDocument.addEventListener("keyup", (event) => {
      if (event.key === " " && event.target.matches?.("button, summary")) event.preventDefault();
    });
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches?.("input[type=search], select");
    if (event.key === "Escape") {
      if (this.help.hidden) this.choose(null); else this.showHelp();
      event.target.blur?.();
      return;
    }
    if (typing) return;
    const frames = event.shiftKey ? 10 : 1;
    const keys = {
      " ": () => this.player.toggle(),
      ArrowLeft: () => this.player.step(-frames), ArrowRight: () => this.player.step(frames),
      Home: () => { this.player.pause(); this.player.seek(0); }, End: () => { this.player.pause(); this.player.seek(this.player.span); },
      r: () => this.reset("home"), f: () => this.reset("front"), s: () => this.reset("side"), t: () => this.reset("top"),
      p: () => this.savePicture(), v: () => this.saveVideo(),
      d: () => this.theme(), n: () => this.showList(), "?": () => this.showHelp(),
    };
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (act && act() !== false) event.preventDefault();
  }

  // --- saving ------------------------------------------------------------------------------------------------------
  /** What is seen now, in twice as many pixels. */
  savePicture() {
    this.stage.bigger(2);
    this.drawNow();
    const url = this.canvas.toDataURL("image/png");
    this.stage.bigger(1);
    this.drawNow();
    this.download(url, "png");
  }

  /** The motion once, from its start, at the speed that is chosen; pressed again, it ends. */
  saveVideo() {
    if (this.recorder) { this.recorder.stop(); return; }
    const kinds = ["video/webm;codecs=vp9", "video/webm", "video/mp4"];
    const kind = window.MediaRecorder && this.canvas.captureStream && kinds.find((one) => MediaRecorder.isTypeSupported(one));
    if (this.times.length < 2) return;
    if (!kind) { this.say("This browser cannot record a video; Chromium and Firefox can."); return; }
    const parts = [];
    this.recorder = new MediaRecorder(this.canvas.captureStream(30), { mimeType: kind, videoBitsPerSecond: 8e6 });
    this.recorder.ondataavailable = (event) => { if (event.data.size) parts.push(event.data); };
    this.recorder.onstop = () => {
      this.recorder = null;
      this.videoButton.setAttribute("aria-pressed", "false");
      this.player.pause();
      const url = URL.createObjectURL(new Blob(parts, { type: kind.split(";")[0] }));
      this.download(url, kind.includes("mp4") ? "mp4" : "webm");
      setTimeout(() => URL.revokeObjectURL(url), 10000);
    };
    this.videoButton.setAttribute("aria-pressed", "true");
    this.player.pause();
    this.player.seek(0);
    this.recorder.start();
    this.player.play(() => this.recorder?.stop());
  }

  download(url, ending) {
    const word = this.scene.title.replace(/[^\w-]+/g, "_") || "motion";
    element("a", { href: url, download: `${word}.${ending}` }).click();
  }

  say(words) {
    this.help.textContent = words;
    this.help.hidden = false;
    setTimeout(() => { this.help.hidden = true; this.help.textContent = HELP; }, 6000);
  }

  // --- drawing -----------------------------------------------------------------------------------------------------
  put(chip, words, x, y) {
    chip.textContent = words;
    chip.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px) translate(-50%, -150%)`;
  }

  reset(view) {
    const middle = (this.follow ? this.stage.last : this.centre(0).add(this.fromCentre)).clone().add(this.aside);
    this.stage.frame(middle, this.radius, VIEWS[view]);
    this.draw();
  }

  resize() {
    const { clientWidth, clientHeight } = this.area;
    if (!clientWidth || !clientHeight) return;
    const first = !this.sized;
    this.sized = true;
    this.stage.covered = this.player.root.hidden ? 0 : Math.min(64, 0.2 * clientHeight);
    this.stage.coveredLeft = this.plot.root.hidden || clientWidth < 900 ? 0 : 0.6 * this.plot.root.offsetWidth;
    this.stage.resize(clientWidth, clientHeight);
    if (first) this.reset("home");
    this.draw();
  }

  /** Draw once, soon; again while the camera still glides. */
  draw() {
    if (this.waiting || !this.stage) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.drawNow();
    });
  }

  drawNow() {
    this.stage.controls.update();
    this.stage.render();
    this.triad.update(this.stage.camera);
    const m = this.tubes && this.shown.muscles ? this.tubes.selected : -1;
    this.label.hidden = m < 0;
    if (m >= 0) {
      const { x, y } = this.project([...this.tubes.middle.subarray(3 * m, 3 * m + 3)]);
      this.put(this.label, this.scene.muscles.names[m], x, y);
    }
  }

  /** Where a point of ground [m] lies on the canvas, in CSS pixels. */
  project(point) {
    const v = new THREE.Vector3(...point).project(this.stage.camera);
    return { x: ((v.x + 1) / 2) * this.area.clientWidth, y: ((1 - v.y) / 2) * this.area.clientHeight };
  }
}
