// Where it all stands: renderer, camera, light, ground.
import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";

const THEMES = {
  light: { back: "#eef1f4", ground: "#dde3e8", line: "#a9b6c1", sky: "#ffffff", below: "#c9c2b6", hemisphere: 1.55, sun: 2.1, shadow: 0.2 },
  dark: { back: "#14181d", ground: "#1d232a", line: "#45525e", sky: "#dfe8f2", below: "#4a4540", hemisphere: 1.15, sun: 2.2, shadow: 0.45 },
};
const VIEW = 30; // degrees: a long lens keeps limbs parallel

/** The browser draws nothing in three dimensions. */
export class NoWebGL extends Error {
  constructor() {
    super("WebGL is off in this browser");
  }
}

export class Stage {
  constructor(canvas, { up, size, floor }) {
    // Asked for here, because three.js fails with another error where there is none; it gets this same context then.
    if (!canvas.getContext("webgl2", { antialias: true })) throw new NoWebGL();
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: true });
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = THREE.PCFSoftShadowMap;
    this.renderer.shadowMap.autoUpdate = false; // only where something moves, not where the camera does
    this.scene = new THREE.Scene();
    this.size = size;
    this.covered = this.coveredLeft = 0; // [px] at the lower and the left edge
    this.up = new THREE.Vector3().setComponent(up, 1);
    this.camera = new THREE.PerspectiveCamera(VIEW, 1, 0.01 * size, 60 * size);
    this.camera.up.copy(this.up);
    this.controls = new OrbitControls(this.camera, canvas);
    Object.assign(this.controls, { enableDamping: true, dampingFactor: 0.12, minDistance: 0.08 * size, maxDistance: 20 * size });
    this.hemisphere = new THREE.HemisphereLight();
    this.hemisphere.position.copy(this.up);
    this.sun = new THREE.DirectionalLight("#fff4e2");
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    Object.assign(this.sun.shadow, { radius: 5, bias: -0.0004, normalBias: 0.004 * size });
    Object.assign(this.sun.shadow.camera, { left: -size, right: size, top: size, bottom: -size, near: 0.1 * size, far: 8 * size });
    this.fill = new THREE.DirectionalLight("#cfe2ff", 0.55);
    this.scene.add(this.hemisphere, this.sun, this.sun.target, this.fill, this.fill.target);
    this.addGround(up, size, floor);
    this.theme("light");
  }

  addGround(up, size, floor) {
    this.ground = new THREE.Group();
    this.groundMaterial = new THREE.ShaderMaterial({
      transparent: true,
      depthWrite: false,
      uniforms: { base: { value: new THREE.Color() }, line: { value: new THREE.Color() }, centre: { value: new THREE.Vector2() }, reach: { value: 2.6 * size }, cell: { value: cellOf(size) } },
      vertexShader: `varying vec2 at; void main() { at = position.xy; gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0); }`,
      fragmentShader: `
        varying vec2 at; uniform vec3 base, line; uniform vec2 centre; uniform float reach, cell;
        float grid(vec2 x) { vec2 g = abs(fract(x - 0.5) - 0.5) / fwidth(x); return 1.0 - min(min(g.x, g.y), 1.0); }
        void main() {
          float far = length(at - centre) / reach;
          float fade = 1.0 - smoothstep(0.25, 1.0, far);
          float lines = max(0.35 * grid(at / cell), 0.8 * grid(at / (5.0 * cell)));
          gl_FragColor = vec4(mix(base, line, lines), fade);
          #include <colorspace_fragment>
        }`,
    });
    const plane = new THREE.PlaneGeometry(24 * size, 24 * size);
    const base = new THREE.Mesh(plane, this.groundMaterial);
    base.renderOrder = -2;
    this.shade = new THREE.Mesh(plane, new THREE.ShadowMaterial({ depthWrite: false }));
    this.shade.receiveShadow = true;
    this.shade.renderOrder = -1;
    this.ground.add(base, this.shade);
    // The plane lies in x and y; its normal becomes up.
    this.ground.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), this.up);
    this.ground.position.copy(this.up).multiplyScalar(floor);
    this.scene.add(this.ground);
  }

  theme(name) {
    const t = THEMES[name];
    this.scene.background = new THREE.Color(t.back);
    this.groundMaterial.uniforms.base.value.set(t.ground);
    this.groundMaterial.uniforms.line.value.set(t.line);
    this.hemisphere.color.set(t.sky);
    this.hemisphere.groundColor.set(t.below);
    this.hemisphere.intensity = t.hemisphere;
    this.sun.intensity = t.sun;
    this.shade.material.opacity = t.shadow;
  }

  /** Look at `centre` so that a ball of `radius` fills the picture, from a direction in the axes forward, up, right. */
  frame(centre, radius, [forward, up, right]) {
    const [x, z] = this.axes();
    const from = new THREE.Vector3().addScaledVector(x, forward).addScaledVector(this.up, up).addScaledVector(z, right).normalize();
    const half = Math.min(1, this.camera.aspect) * Math.tan((VIEW * Math.PI) / 360);
    this.controls.target.copy(centre);
    this.camera.position.copy(centre).addScaledVector(from, (1.06 * radius) / Math.sin(Math.atan(half * (this.free ?? 1))));
    this.controls.update();
  }

  /** Forward and right: x and z where y is up, x and -y where z is. */
  axes() {
    const forward = this.up.x > 0.5 ? new THREE.Vector3(0, 1, 0) : new THREE.Vector3(1, 0, 0);
    return [forward, forward.clone().cross(this.up)];
  }

  /** Light and ground go where the model goes; the camera, too, where it follows. */
  moveTo(centre, follow) {
    if (follow && this.last) {
      const step = centre.clone().sub(this.last);
      this.camera.position.add(step);
      this.controls.target.add(step);
    }
    this.last = centre.clone();
    const [x, z] = this.axes();
    const from = (a, b, c) => centre.clone().addScaledVector(x, a * this.size).addScaledVector(this.up, b * this.size).addScaledVector(z, c * this.size);
    this.sun.position.copy(from(1.1, 2.6, 1.4));
    this.sun.target.position.copy(centre);
    this.fill.position.copy(from(-1.5, 0.8, -1.2));
    this.fill.target.position.copy(centre);
    const local = this.ground.worldToLocal(centre.clone());
    this.groundMaterial.uniforms.centre.value.set(local.x, local.y);
  }

  resize(width, height) {
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio || 1, 2));
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / Math.max(height, 1);
    // The player covers the lower edge, a curve the left one; the middle of the picture is the middle of what is free.
    this.camera.setViewOffset(width, height, -this.coveredLeft / 2, this.covered / 2, width, height);
    this.free = 1 - this.covered / height;
  }

  /** Draw with so many times the pixels. */
  bigger(times) {
    const { width, height } = this.renderer.getSize(new THREE.Vector2());
    this.renderer.setPixelRatio(times * Math.min(window.devicePixelRatio || 1, 2));
    this.renderer.setSize(width, height, false);
  }

  /** Something has moved: the shadows are drawn anew with the next picture. */
  moved() {
    this.renderer.shadowMap.needsUpdate = true;
  }

  render() {
    this.renderer.render(this.scene, this.camera);
  }
}

/** A round cell of the grid: 0.1 m for a person. */
function cellOf(size) {
  return 10 ** Math.floor(Math.log10(size / 3));
}
