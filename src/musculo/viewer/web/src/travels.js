// Whether a model goes somewhere, so that the camera has to follow.

/** Whether every body gets further from its first place than so far [m]. */
export function travels(poses, far) {
  const { values, shape } = poses.p;
  const [frames, n] = shape;
  for (let b = 0; b < n; b++) {
    let most = 0;
    for (let f = 0; f < frames; f++) {
      const k = 3 * (f * n + b), j = 3 * b;
      most = Math.max(most, Math.hypot(values[k] - values[j], values[k + 1] - values[j + 1], values[k + 2] - values[j + 2]));
    }
    if (most < far) return false;
  }
  return n > 0;
}
