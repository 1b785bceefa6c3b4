"""The tree of nodes: joints, poses, inverse and forward dynamics, mass matrix.

`nodes` (layout) -> `mobilizer` (one joint) -> `node_kinematics` (poses, velocities) -> `rnea`, `crba`, `aba`;
`tree_frames` runs them over all frames.
"""
