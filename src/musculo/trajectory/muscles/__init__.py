"""Muscles in optimal motions.

Known motion: `known_motion` -> `inverse_program` -> `muscle_inverse`. Motion to be found: `muscle_nodes` (fibers and
tendons), `node_paths` (lengths), `ground_contact`, `outside_loads` -> `muscle_driven` (a node function;
`muscle_curvature` has its second derivatives, `scattered_blocks` puts blocks into sparse matrices) -> `track_motion`.
"""
