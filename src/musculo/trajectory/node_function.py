"""What a transcription asks of dynamics, goals and constraints: values at every node and their exact slopes."""

from __future__ import annotations

from typing import Protocol

from musculo.arrays import FloatArray, IntArray


class NodeFunction(Protocol):
    """A function y(v) of the variables v of one node, evaluated at all nodes in one call.

    The slopes dy/dv have the same zeros at every node. `pattern` lists the entries that may differ from zero, row by
    row or in any other order, each once.

    Variables have names such as `knee_angle_r/value`, `knee_angle_r/speed`, `knee_angle_r/acceleration`,
    `soleus_r/activation`, `soleus_r/normalized_tendon_force`, `soleus_r/excitation`, and `time`. Units are SI and
    radians. A parameter of the whole motion is a variable that has the same value at every node.
    """

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the variables v, in the order of the columns."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the rows y, such as `knee_angle_r/moment`; they appear in messages and results."""

    @property
    def pattern(self) -> tuple[IntArray, IntArray]:
        """(entries,) rows and (entries,) columns of dy/dv."""

    def values(self, variables: FloatArray) -> FloatArray:
        """(nodes, outputs) from variables (nodes, inputs)."""

    def slopes(self, variables: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(nodes, outputs) values and (nodes, entries) slopes, in the order of `pattern`."""


class CurvedNodeFunction(NodeFunction, Protocol):
    """A node function that knows its second derivatives."""

    @property
    def curvature_pattern(self) -> tuple[IntArray, IntArray]:
        """(entries,) rows and columns of the second derivatives, both inputs, rows >= columns, each once."""

    def curvatures(self, variables: FloatArray, multipliers: FloatArray) -> FloatArray:
        """(nodes, entries) of the sum over outputs of multipliers (nodes, outputs) times d2y/dv2."""
