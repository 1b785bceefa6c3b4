// The axes of ground, seen as the camera sees them.
import * as THREE from "three";
import { element } from "./element.js";

const AXES = [["x", "#d55e00"], ["y", "#009e73"], ["z", "#3a86d4"]];

export class Triad {
  constructor() {
    this.parts = AXES.map(([name, colour]) => ({
      line: element("line", { x1: 0, y1: 0, stroke: colour, "stroke-width": 2.5, "stroke-linecap": "round" }),
      text: element("text", { fill: colour, "text-anchor": "middle", "dominant-baseline": "central" }, name),
    }));
    this.root = element("svg", { class: "mv-triad", viewBox: "-36 -36 72 72", "aria-hidden": "true" });
    for (const { line, text } of this.parts) this.root.append(line, text);
    this.inverse = new THREE.Quaternion();
    this.way = new THREE.Vector3();
  }

  update(camera) {
    this.inverse.copy(camera.quaternion).invert();
    this.parts.forEach(({ line, text }, k) => {
      this.way.set(0, 0, 0).setComponent(k, 1).applyQuaternion(this.inverse);
      const [x, y] = [this.way.x, -this.way.y];
      line.setAttribute("x2", 22 * x);
      line.setAttribute("y2", 22 * y);
      text.setAttribute("x", 30 * x);
      text.setAttribute("y", 30 * y);
    });
  }
}
