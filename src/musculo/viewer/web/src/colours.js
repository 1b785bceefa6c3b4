// Colours that colour-blind readers tell apart: blue to amber, with lightness growing all the way.

const ACTIVATION = [
  [0.0, "#5573b5"], [0.25, "#8a76b5"], [0.5, "#cb7583"], [0.75, "#f0965a"], [1.0, "#ffd76e"],
];
export const MUSCLE = "#b4533f";
export const PATH = "#7f8b95";
export const UNKNOWN = "#8d949c";

const channels = (hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16) / 255);
const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
const STOPS = ACTIVATION.map(([at, hex]) => [at, channels(hex).map(linear)]);

/** Colour in linear light, as three.js wants vertex colours. */
export const linearColour = (hex) => channels(hex).map(linear);

export function activationColour(a, out) {
  const x = Math.min(1, Math.max(0, a));
  let k = 1;
  while (k < STOPS.length - 1 && STOPS[k][0] < x) k++;
  const [t0, c0] = STOPS[k - 1];
  const [t1, c1] = STOPS[k];
  const s = (x - t0) / (t1 - t0);
  for (let i = 0; i < 3; i++) out[i] = c0[i] + s * (c1[i] - c0[i]);
  return out;
}

export const activationGradient = `linear-gradient(90deg, ${ACTIVATION.map(([t, c]) => `${c} ${100 * t}%`).join(", ")})`;
