"""What the forces of a model do at one state: to bodies and to speeds.

`fixed_frames` (frames that forces hold on to) -> the laws of one force each: `coordinate_laws`, `bushing_law`,
`point_laws` and those of `kernels/contact` -> `passive_forces` (all that need no control, force by force);
`actuator_laws` (those that have one) and `recorded_loads` (from outside, over time) -> `acting_forces` (all together);
`wrench_forces` makes generalized forces of wrenches, and `force_frames` runs passive forces over all frames.

Scalars are real numbers, not packs: contacts begin and end, and each lane goes its own way.
"""
