// How high the floor lies: below all that is drawn in all frames, or where the model stands.
import * as THREE from "three";
import { width } from "./arrays.js";

/** Height of the floor [m]; `bones` are the meshes of addBones, each a child of the group of its body. */
export function floorOf(scene, bones, bodies) {
  const { size } = scene;
  const lowest = Math.min(lowestPoint(scene), lowestBone(scene, bones, bodies));
  if (lowest === Infinity) return 0;
  // Who stands on the ground, or close to it, stands on zero; who is elsewhere gets a floor that hides nothing.
  const stands = lowest < 0.3 * size && (lowest > -0.03 * size || pressed(scene));
  return stands ? 0 : lowest - 0.02 * size;
}

/** Whether an external load presses at the height of zero, as force plates do; a load in the hand does not. */
function pressed({ loads, up, size }) {
  if (!loads.names.length) return false;
  const { values: f } = loads.force, { values: p } = loads.point;
  for (let k = 0; k < f.length; k += 3) {
    if (Math.hypot(f[k], f[k + 1], f[k + 2]) > 0 && Math.abs(p[k + up]) < 0.05 * size) return true;
  }
  return false;
}

function lowestPoint({ poses, muscles, markers, up }) {
  let lowest = Infinity;
  const thickest = 1.1 * Math.max(0, ...(muscles.radius ?? []));
  for (const [array, around] of [[poses.p, 0], [muscles.points, thickest], [markers.model, 0], [markers.measured, 0]]) {
    if (!array) continue;
    // NaN is no less than anything.
    for (let k = up; k < array.values.length; k += 3) if (array.values[k] - around < lowest) lowest = array.values[k] - around;
  }
  return lowest;
}

/** The lowest vertex of all bones in all frames. A bone's box is asked first; its vertices only where the box is lower. */
function lowestBone({ poses, up }, bones, bodies) {
  const { p, r } = poses;
  const n = width(p) / 3, frames = p.shape[0];
  let lowest = Infinity;
  const turn = new THREE.Quaternion(), upward = new THREE.Vector3(), corner = new THREE.Vector3();
  for (const bone of bones) {
    bone.updateMatrix();
    const points = bone.geometry.clone().applyMatrix4(bone.matrix);
    points.computeBoundingBox();
    const { min, max } = points.boundingBox;
    const v = points.getAttribute("position").array;
    const b = bodies.indexOf(bone.parent) - 1; // the first is ground, which has no pose
    for (let f = 0; f < (b < 0 ? 1 : frames); f++) {
      let height = 0;
      upward.set(0, 0, 0).setComponent(up, 1);
      if (b >= 0) {
        const k = f * n + b;
        height = p.values[3 * k + up];
        turn.set(r.values[4 * k + 1], r.values[4 * k + 2], r.values[4 * k + 3], r.values[4 * k]).normalize();
        upward.applyQuaternion(turn.invert()); // up, as the body sees it
      }
      corner.set(upward.x > 0 ? min.x : max.x, upward.y > 0 ? min.y : max.y, upward.z > 0 ? min.z : max.z);
      if (!(height + corner.dot(upward) < lowest)) continue;
      for (let j = 0; j < v.length; j += 3) {
        const y = height + v[j] * upward.x + v[j + 1] * upward.y + v[j + 2] * upward.z;
        if (y < lowest) lowest = y;
      }
    }
    points.dispose();
  }
  return lowest;
}
