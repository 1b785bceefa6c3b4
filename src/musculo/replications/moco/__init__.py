"""OpenSim Moco's tests and examples of motions with muscles, done again: `moco_inverse`, `moco_track`, `moco_walk`; and
`predicted_step`, a step that nobody has walked."""
