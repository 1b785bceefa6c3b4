// Undoes what viewer/arrays.py does: base64, deflate, byte planes, differences over frames, steps.

const MISSING = -32768;

async function inflated(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function summed(bytes, rows) {
  const size = bytes.length / 2;
  const out = new Uint16Array(size);
  for (let i = 0; i < size; i++) out[i] = bytes[i] | (bytes[size + i] << 8);
  const width = rows ? size / rows : 0;
  for (let i = width; i < size; i++) out[i] += out[i - width]; // wraps at 2^16, as it was packed
  return out;
}

async function unpacked({ type, shape, data, offset, scale }) {
  const bytes = await inflated(data);
  if (type === "float32") return { shape, values: new Float32Array(bytes.buffer) };
  if (type === "uint32") {
    const halves = summed(bytes, 2);
    const n = halves.length / 2;
    return { shape, values: Uint32Array.from({ length: n }, (_, i) => halves[i] + 65536 * halves[n + i]) };
  }
  const whole = summed(bytes, shape[0]);
  if (type === "uint16") return { shape, values: whole };
  const steps = new Int16Array(whole.buffer);
  const values = new Float32Array(steps.length);
  const n = offset.length;
  for (let i = 0; i < steps.length; i++) {
    values[i] = steps[i] === MISSING ? NaN : offset[i % n] + scale[i % n] * steps[i];
  }
  return { shape, values };
}

/** The scene with every packed array replaced by { shape, values }. */
export async function decoded(node) {
  if (Array.isArray(node)) return Promise.all(node.map(decoded));
  if (node === null || typeof node !== "object") return node;
  if (typeof node.data === "string" && Array.isArray(node.shape)) return unpacked(node);
  const entries = await Promise.all(Object.entries(node).map(async ([key, value]) => [key, await decoded(value)]));
  return Object.fromEntries(entries);
}

/** Values of row `i` mixed with row `i + 1` by `share`, written to `out`; where one is missing, so is the mix. */
export function mixedRow({ shape, values }, at, out) {
  const width = shape.slice(1).reduce((a, b) => a * b, 1);
  const { i, share } = at;
  const a = i * width;
  if (share === 0) {
    for (let k = 0; k < width; k++) out[k] = values[a + k];
    return out;
  }
  const b = a + width;
  for (let k = 0; k < width; k++) out[k] = values[a + k] + share * (values[b + k] - values[a + k]);
  return out;
}

export function width(array) {
  return array.shape.slice(1).reduce((a, b) => a * b, 1);
}

/** The first row that holds a number; the first of all where none does. */
export function firstKnown(array) {
  const k = array.values.findIndex((x) => x === x);
  return k < 0 ? 0 : Math.floor(k / width(array));
}
