// Small things that move: markers with their error lines, and arrows of forces.
import * as THREE from "three";

export const MODEL_MARKER = "#cc79a7";
export const MEASURED_MARKER = "#1f8fd6";
export const ERROR = "#e69f00";
const UP = new THREE.Vector3(0, 1, 0);
const AWAY = new THREE.Matrix4().makeScale(0, 0, 0);

class Dots {
  constructor(count, radius, colour, group) {
    const material = new THREE.MeshStandardMaterial({ color: colour, roughness: 0.45 });
    this.mesh = new THREE.InstancedMesh(new THREE.SphereGeometry(radius, 16, 12), material, count);
    this.mesh.frustumCulled = false;
    this.matrix = new THREE.Matrix4();
    group.add(this.mesh);
  }

  update(points) {
    for (let k = 0; k < this.mesh.count; k++) {
      const x = points[3 * k];
      this.mesh.setMatrixAt(k, Number.isNaN(x) ? AWAY : this.matrix.makeTranslation(x, points[3 * k + 1], points[3 * k + 2]));
    }
    this.mesh.instanceMatrix.needsUpdate = true;
  }
}

/** Thin rods between two points each; a line of WebGL is one pixel wide, which is hard to see. */
class Lines {
  constructor(count, radius, group) {
    const material = new THREE.MeshStandardMaterial({ color: ERROR, roughness: 0.6 });
    this.mesh = new THREE.InstancedMesh(new THREE.CylinderGeometry(radius, radius, 1, 8), material, count);
    this.mesh.frustumCulled = false;
    group.add(this.mesh);
    this.a = new THREE.Vector3();
    this.b = new THREE.Vector3();
    this.turn = new THREE.Quaternion();
    this.size = new THREE.Vector3(1, 1, 1);
    this.matrix = new THREE.Matrix4();
  }

  set(which, from, j, to, k) {
    const known = to !== null && !Number.isNaN(from[3 * j]);
    if (known) {
      this.a.fromArray(from, 3 * j);
      this.b.fromArray(to, 3 * k).sub(this.a);
      this.size.y = this.b.length();
      this.a.addScaledVector(this.b, 0.5);
      this.turn.setFromUnitVectors(UP, this.b.normalize());
      this.matrix.compose(this.a, this.turn, this.size);
    }
    this.mesh.setMatrixAt(which, known ? this.matrix : AWAY);
  }
}

export class Markers {
  constructor(markers, size, group) {
    this.markers = markers;
    if (markers.model) this.model = new Dots(markers.names.length, 0.0048 * size, MODEL_MARKER, group);
    if (markers.measured) {
      this.measured = new Dots(markers.measured_names.length, 0.0048 * size, MEASURED_MARKER, group);
      this.lines = new Lines(markers.measured_names.length, 0.0014 * size, group);
    }
  }

  update(model, measured) {
    if (this.model) this.model.update(model);
    if (!this.measured) return;
    this.measured.update(measured);
    this.markers.match.forEach((k, m) => this.lines.set(m, measured, m, k < 0 ? null : model, k));
    this.lines.mesh.instanceMatrix.needsUpdate = true;
  }
}

export class Arrows {
  /** `longest` is the length of the largest force [m]. */
  constructor(arrows, longest, thickness, colour, group) {
    this.arrows = arrows;
    let most = 0;
    const f = arrows.force.values;
    for (let k = 0; k < f.length; k += 3) {
      const size = Math.hypot(f[k], f[k + 1], f[k + 2]);
      if (size > most) most = size;
    }
    this.most = most;
    this.scale = most > 0 ? longest / most : 0;
    const material = new THREE.MeshStandardMaterial({ color: colour, roughness: 0.4 });
    const shaft = new THREE.CylinderGeometry(thickness, thickness, 1, 16).translate(0, 0.5, 0);
    const head = new THREE.ConeGeometry(2.6 * thickness, 7 * thickness, 20).translate(0, 3.5 * thickness, 0);
    this.headLength = 7 * thickness;
    this.parts = arrows.names.map(() => {
      const whole = new THREE.Group();
      const parts = [new THREE.Mesh(shaft, material), new THREE.Mesh(head, material)];
      parts.forEach((part) => (part.castShadow = true));
      whole.add(...parts);
      group.add(whole);
      return { whole, shaft: parts[0], head: parts[1] };
    });
    this.up = new THREE.Vector3(0, 1, 0);
    this.way = new THREE.Vector3();
  }

  update(point, force) {
    this.parts.forEach(({ whole, shaft, head }, k) => {
      this.way.set(force[3 * k], force[3 * k + 1], force[3 * k + 2]);
      const size = this.way.length();
      // Less than a hundredth of the largest is noise of a plate that nobody stands on.
      whole.visible = size > 0.01 * this.most && Number.isFinite(point[3 * k]);
      if (!whole.visible) return;
      const length = size * this.scale;
      whole.position.set(point[3 * k], point[3 * k + 1], point[3 * k + 2]);
      whole.quaternion.setFromUnitVectors(this.up, this.way.divideScalar(size));
      const cone = Math.min(1, (0.6 * length) / this.headLength);
      head.scale.setScalar(cone);
      head.position.y = length - cone * this.headLength;
      shaft.scale.set(cone, Math.max(length - cone * this.headLength, 1e-6), cone);
    });
  }
}
