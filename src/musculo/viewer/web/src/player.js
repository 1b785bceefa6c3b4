// Time: play, pause, scrub, speed.
import { element } from "./element.js";

const SPEEDS = [0.1, 0.25, 0.5, 1, 2];

export class Player {
  constructor(time, start, onMove) {
    Object.assign(this, { time, start, onMove, at: 0, playing: false, speed: 1 });
    this.span = time[time.length - 1];
    this.button = element("button", { class: "mv-play", "aria-label": "Play", title: "Play or pause (space)", onclick: () => this.toggle() }, "▶");
    this.bar = element("input", {
      type: "range", min: 0, max: Math.max(this.span, 1e-9), step: "any", value: 0, "aria-label": "Time",
      oninput: () => { this.pause(); this.seek(Number(this.bar.value)); },
    });
    this.clock = element("output", { class: "mv-clock" });
    const speeds = element("select", { "aria-label": "Speed", title: "Speed", onchange: (event) => (this.speed = Number(event.target.value)) });
    for (const s of SPEEDS) speeds.append(element("option", { value: s, selected: s === 1 }, `${s}×`));
    this.root = element("footer", { class: "mv-card mv-player", hidden: time.length < 2 }, this.button, this.bar, this.clock, speeds);
  }

  /** The row before the current time, and how far it is to the next. */
  place() {
    const { time, at } = this;
    let low = 0, high = time.length - 1;
    while (high - low > 1) {
      const mid = (low + high) >> 1;
      if (time[mid] <= at) low = mid; else high = mid;
    }
    if (time.length < 2) return { i: 0, share: 0 };
    if (at >= time[high]) return { i: high, share: 0 };
    const share = (at - time[low]) / (time[high] - time[low]);
    return { i: low, share: share < 1e-6 ? 0 : share };
  }

  seek(t) {
    this.at = Math.min(this.span, Math.max(0, t));
    this.bar.value = this.at;
    this.clock.textContent = `${(this.start + this.at).toFixed(2)} s`;
    this.bar.setAttribute("aria-valuetext", this.clock.textContent);
    this.onMove(this.at, this.place());
  }

  step(frames) {
    this.pause();
    const { i, share } = this.place();
    const from = frames < 0 && share > 0 ? i + 1 : i;
    this.seek(this.time[Math.min(this.time.length - 1, Math.max(0, from + frames))]);
  }

  toggle() {
    if (this.playing) this.pause(); else this.play();
  }

  /** Around and around; with `onEnd` once, which is then called. */
  play(onEnd) {
    if (this.time.length < 2 || this.playing) return;
    if (this.at >= this.span) this.at = 0;
    this.playing = true;
    this.face("❚❚", "Pause");
    let before = performance.now();
    const tick = (now) => {
      if (!this.playing) return;
      const next = this.at + ((now - before) / 1000) * this.speed;
      before = now;
      if (onEnd && next >= this.span) {
        this.seek(this.span);
        this.pause();
        onEnd();
        return;
      }
      this.seek(next >= this.span ? 0 : next);
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  pause() {
    this.playing = false;
    this.face("▶", "Play");
  }

  face(sign, words) {
    this.button.textContent = sign;
    this.button.setAttribute("aria-label", words);
  }
}
