// Bones and wrap surfaces: shapes of a size, fixed to bodies.
import * as THREE from "three";

const BONE = "#e8dfc9";

function latheBone(length, radius) {
  const knob = (t) => {
    const w = Math.max(0.08, (1.5 * radius) / length);
    return radius * (1 + 0.7 * Math.exp(-((t / w) ** 2)) + 0.8 * Math.exp(-(((1 - t) / w) ** 2)));
  };
  const profile = [];
  const caps = 8;
  for (let k = 0; k <= caps; k++) {
    const a = (-Math.PI / 2) * (1 - k / caps);
    profile.push(new THREE.Vector2(Math.max(knob(0) * Math.cos(a), 1e-6), knob(0) * Math.sin(a) * 0.8));
  }
  for (let k = 1; k < 28; k++) profile.push(new THREE.Vector2(knob(k / 28), (length * k) / 28));
  for (let k = 0; k <= caps; k++) {
    const a = (Math.PI / 2) * (k / caps);
    profile.push(new THREE.Vector2(Math.max(knob(1) * Math.cos(a), 1e-6), length + knob(1) * Math.sin(a) * 0.8));
  }
  return new THREE.LatheGeometry(profile, 28);
}

function meshGeometry(mesh) {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(mesh.points.values, 3));
  geometry.setIndex(new THREE.BufferAttribute(Uint32Array.from(mesh.triangles.values), 1));
  geometry.computeVertexNormals();
  return geometry;
}

function geometryOf(shape, meshes) {
  const s = shape.sizes;
  switch (shape.kind) {
    case "mesh":
      return meshGeometry(meshes[shape.mesh]);
    case "bone": {
      const [a, b] = [new THREE.Vector3(...shape.a), new THREE.Vector3(...shape.b)];
      const along = b.clone().sub(a);
      const turn = new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 1, 0), along.clone().normalize());
      return latheBone(along.length(), s[0]).applyQuaternion(turn);
    }
    case "ellipsoid":
    case "shell":
      return new THREE.SphereGeometry(1, 48, 32).scale(...s);
    case "sphere":
      return new THREE.SphereGeometry(s[0], 40, 28);
    case "brick":
      return new THREE.BoxGeometry(2 * s[0], 2 * s[1], 2 * s[2]);
    case "cylinder":
      return new THREE.CylinderGeometry(s[0], s[0], 2 * s[1], 40);
    default:
      return null;
  }
}

function wrapGeometry({ kind, sizes: s }) {
  switch (kind) {
    case "cylinder":
      return new THREE.CylinderGeometry(s[0], s[0], s[1], 40, 1, true).rotateX(Math.PI / 2); // about z
    case "sphere":
      return new THREE.SphereGeometry(s[0], 40, 28);
    case "ellipsoid":
      return new THREE.SphereGeometry(1, 40, 28).scale(...s);
    case "torus":
      return new THREE.TorusGeometry(s[1], s[0], 20, 56);
    default:
      return null;
  }
}

function placed(object, { a, r, scale }) {
  if (a) object.position.set(...a);
  if (r) object.quaternion.set(r[1], r[2], r[3], r[0]);
  if (scale) object.scale.set(...scale);
  return object;
}

/** Adds every bone to the group of its body; returns the meshes, to show and hide. */
export function addBones(scene, groups) {
  const bone = new THREE.MeshStandardMaterial({ color: BONE, roughness: 0.68, metalness: 0.0, side: THREE.DoubleSide });
  const shell = shellMaterial();
  return scene.shapes.flatMap((shape) => {
    const geometry = geometryOf(shape, scene.meshes);
    if (!geometry) return [];
    let material = shape.kind === "shell" ? shell : bone;
    if (shape.colour || shape.opacity !== undefined) {
      material = bone.clone();
      if (shape.colour) material.color.setRGB(...shape.colour, THREE.SRGBColorSpace);
      if (shape.opacity !== undefined) Object.assign(material, { transparent: true, opacity: shape.opacity });
    }
    const mesh = placed(new THREE.Mesh(geometry, material), shape);
    mesh.castShadow = mesh.receiveShadow = shape.kind !== "shell";
    if (shape.kind === "shell") mesh.renderOrder = 3;
    groups[shape.body].add(mesh);
    return [mesh];
  });
}

/** A shell that is clear where one looks straight at it and denser towards its rim. */
function shellMaterial() {
  const material = new THREE.MeshStandardMaterial({ color: BONE, roughness: 0.6, transparent: true, opacity: 0.55, depthWrite: false });
  material.onBeforeCompile = (shader) => {
    shader.fragmentShader = shader.fragmentShader.replace(
      "#include <opaque_fragment>",
      "diffuseColor.a *= mix(0.22, 1.0, pow(1.0 - abs(dot(normalize(vViewPosition), normal)), 1.6));\n#include <opaque_fragment>",
    );
  };
  return material;
}

/** Adds the wrap surfaces, translucent. */
export function addWraps(scene, groups) {
  const material = new THREE.MeshStandardMaterial({
    color: "#4f9dc4", transparent: true, opacity: 0.28, roughness: 0.4, side: THREE.DoubleSide, depthWrite: false,
  });
  return scene.wraps.flatMap((shape) => {
    const geometry = wrapGeometry(shape);
    if (!geometry) return [];
    const mesh = placed(new THREE.Mesh(geometry, material), shape);
    mesh.renderOrder = 2;
    groups[shape.body].add(mesh);
    return [mesh];
  });
}
