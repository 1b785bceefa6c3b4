// Muscles as tubes along their paths: one mesh for all, filled anew for each frame.
import * as THREE from "three";
import { activationColour, linearColour, MUSCLE, PATH, UNKNOWN } from "./colours.js";

const SIDES = 9;
const EXTRA = 14; // rings that a straight stretch is divided into, so that a belly shows

export class Tubes {
  constructor(muscles) {
    this.muscles = muscles;
    this.selected = -1;
    const n = muscles.names.length;
    this.rings = [];
    let vertices = 0;
    let faces = 0;
    for (let m = 0; m < n; m++) {
      const rings = muscles.first[m + 1] - muscles.first[m] + EXTRA;
      this.rings.push({ start: vertices, count: rings });
      vertices += rings * SIDES + 2;
      faces += (rings - 1) * SIDES * 2 + 2 * SIDES;
    }
    const geometry = new THREE.BufferGeometry();
    this.position = new Float32Array(3 * vertices);
    this.normal = new Float32Array(3 * vertices);
    this.colour = new Float32Array(3 * vertices);
    this.owner = new Uint16Array(vertices);
    const index = new Uint32Array(3 * faces);
    let at = 0;
    this.rings.forEach(({ start, count }, m) => {
      this.owner.fill(m, start, start + count * SIDES + 2);
      for (let r = 0; r < count - 1; r++) {
        for (let s = 0; s < SIDES; s++) {
          const a = start + r * SIDES + s;
          const b = start + r * SIDES + ((s + 1) % SIDES);
          index.set([a, b, a + SIDES, b, b + SIDES, a + SIDES], at);
          at += 6;
        }
      }
      const [head, tail, last] = [start + count * SIDES, start + count * SIDES + 1, start + (count - 1) * SIDES];
      for (let s = 0; s < SIDES; s++) {
        index.set([head, start + ((s + 1) % SIDES), start + s, tail, last + s, last + ((s + 1) % SIDES)], at);
        at += 6;
      }
    });
    geometry.setIndex(new THREE.BufferAttribute(index, 1));
    for (const [name, array] of [["position", this.position], ["normal", this.normal], ["color", this.colour]]) {
      geometry.setAttribute(name, new THREE.BufferAttribute(array, 3).setUsage(THREE.DynamicDrawUsage));
    }
    const material = new THREE.MeshStandardMaterial({ vertexColors: true, roughness: 0.52, metalness: 0.0 });
    this.mesh = new THREE.Mesh(geometry, material);
    this.mesh.frustumCulled = false;
    this.mesh.castShadow = true;
    this.mesh.receiveShadow = true;
    this.plain = [linearColour(MUSCLE), linearColour(PATH), linearColour(UNKNOWN)];
    this.middle = new Float32Array(3 * n);
    this.scratch = [0, 0, 0];
  }

  /** Fill for a frame: `points` of all paths, `activation` or null. */
  update(points, activation) {
    const { first, radius, count } = this.muscles;
    for (let m = 0; m < this.rings.length; m++) {
      let colour = m < count ? this.plain[0] : this.plain[1];
      if (activation && m < count) {
        colour = Number.isNaN(activation[m]) ? this.plain[2] : activationColour(activation[m], this.scratch);
      }
      const thick = radius[m] * (m === this.selected ? 1.7 : 1.0);
      this.fill(m, points, first[m], first[m + 1], thick, m < count, colour);
    }
    const { attributes } = this.mesh.geometry;
    for (const name of ["position", "normal", "color"]) attributes[name].needsUpdate = true;
    this.mesh.geometry.boundingSphere = null;
    this.mesh.geometry.boundingBox = null;
  }

  fill(m, points, begin, end, radius, belly, colour) {
    let total = 0;
    for (let k = begin; k < end - 1; k++) total += distance(points, k, k + 1);
    const { start, count } = this.rings[m];
    const step = total / (EXTRA - 1) || 1;
    // Ring centres: every point of the path, and points between where it is long.
    const centres = [];
    const along = [];
    let walked = 0;
    for (let k = begin; k < end - 1; k++) {
      const length = distance(points, k, k + 1);
      if (length < 1e-9 && centres.length) continue;
      const pieces = 1 + Math.floor(length / step);
      for (let p = 0; p < pieces && centres.length < 3 * (count - 1); p++) {
        const s = p / pieces;
        for (let i = 0; i < 3; i++) centres.push(points[3 * k + i] + s * (points[3 * k + 3 + i] - points[3 * k + i]));
        along.push(walked + s * length);
      }
      walked += length;
    }
    for (let i = 0; i < 3; i++) centres.push(points[3 * (end - 1) + i]);
    along.push(walked);
    const n = along.length;
    this.sweep(start, count, n, centres, along, total, radius, belly, colour);
    const mid = along.findIndex((x) => x >= total / 2);
    for (let i = 0; i < 3; i++) this.middle[3 * m + i] = centres[3 * Math.max(mid, 0) + i];
  }

  sweep(start, count, n, c, along, total, radius, belly, colour) {
    const { position, normal, colour: colours } = this;
    let ux = 0, uy = 0, uz = 0;
    let tx = 0, ty = 1, tz = 0;
    for (let r = 0; r < count; r++) {
      const k = Math.min(r, n - 1);
      const [a, b] = [Math.max(k - 1, 0), Math.min(k + 1, n - 1)];
      let dx = c[3 * b] - c[3 * a], dy = c[3 * b + 1] - c[3 * a + 1], dz = c[3 * b + 2] - c[3 * a + 2];
      const d = Math.hypot(dx, dy, dz);
      if (d > 1e-12) { tx = dx / d; ty = dy / d; tz = dz / d; }
      // The last ring's side, turned as little as possible.
      if (r === 0) [ux, uy, uz] = Math.abs(ty) < 0.9 ? [0, 1, 0] : [1, 0, 0];
      const along_t = ux * tx + uy * ty + uz * tz;
      ux -= along_t * tx; uy -= along_t * ty; uz -= along_t * tz;
      const u = Math.hypot(ux, uy, uz) || 1;
      ux /= u; uy /= u; uz /= u;
      const vx = ty * uz - tz * uy, vy = tz * ux - tx * uz, vz = tx * uy - ty * ux;
      const s = total > 0 ? along[k] / total : 0;
      const size = radius * (belly ? 0.34 + 0.76 * Math.sin(Math.PI * s) ** 1.2 : 0.8);
      for (let j = 0; j < SIDES; j++) {
        const angle = (2 * Math.PI * j) / SIDES;
        const ca = Math.cos(angle), sa = Math.sin(angle);
        const nx = ca * ux + sa * vx, ny = ca * uy + sa * vy, nz = ca * uz + sa * vz;
        const at = 3 * (start + r * SIDES + j);
        position[at] = c[3 * k] + size * nx;
        position[at + 1] = c[3 * k + 1] + size * ny;
        position[at + 2] = c[3 * k + 2] + size * nz;
        normal[at] = nx; normal[at + 1] = ny; normal[at + 2] = nz;
        colours[at] = colour[0]; colours[at + 1] = colour[1]; colours[at + 2] = colour[2];
      }
    }
    for (const [vertex, k, sign] of [[start + count * SIDES, 0, -1], [start + count * SIDES + 1, n - 1, 1]]) {
      for (let i = 0; i < 3; i++) {
        position[3 * vertex + i] = c[3 * k + i];
        colours[3 * vertex + i] = colour[i];
      }
      normal[3 * vertex] = sign * tx; normal[3 * vertex + 1] = sign * ty; normal[3 * vertex + 2] = sign * tz;
    }
  }
}

function distance(points, a, b) {
  return Math.hypot(
    points[3 * b] - points[3 * a], points[3 * b + 1] - points[3 * a + 1], points[3 * b + 2] - points[3 * a + 2],
  );
}
