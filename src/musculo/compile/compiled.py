"""The compiled model: what kernels run on, and where its bodies are in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

import musculo.compile.waiting  # noqa: F401 (functions say that they wait)
from musculo.arrays import FloatArray, IntArray
from musculo.compile.joint_nodes import Node, NodeChain, placed, unit
from musculo.errors import InvalidInput, InvalidModel
from musculo.functions.function import Function
from musculo.functions.function_table import FunctionTable, compile_functions
from musculo.kernels.tree.nodes import WELD, Tree
from musculo.model.body import GROUND
from musculo.model.joint_tree import tree_order
from musculo.model.model import Model
from musculo.spatial.inertia import RigidInertia, tensor
from musculo.spatial.pose import Pose

# Of a function that moves a joint: no joint has more coordinates.
_MOST_ARGUMENTS = 6


@dataclass(frozen=True, eq=False)
class CompiledModel:
    """A model as arrays. Nodes number the mobilizers, base outward, from 1; 0 is ground.

    With `merged` welds vanish into their parents, otherwise they are nodes without speeds, so that each joint has a
    node of its own whose wrench can be read.
    """

    tree: Tree
    table: FunctionTable
    body_node: dict[str, int]  # body name, or ground -> node
    body_pose: dict[str, Pose]  # body name -> X_NB in its node
    joint_node: dict[str, int]  # joint name -> its outboard node, 0 if merged into ground
    joint_outboard: dict[str, Pose]  # joint name -> pose of its outboard frame in that node
    joint_reversed: dict[str, bool]
    node_joint: tuple[str, ...]  # node -> name of the joint it belongs to

    @property
    def n_q(self) -> int:
        return int(self.tree.q_rows.size)

    @property
    def n_u(self) -> int:
        return int(self.tree.u_rows.size)

    @cached_property
    def moved_by(self) -> FloatArray:
        """(nodes, n_u) 1 where a speed (public column) moves a node."""
        tree = self.tree
        moved = np.zeros((tree.parent.size, self.n_u))
        for i in range(1, tree.parent.size):
            moved[i] = moved[tree.parent[i]]
            first = tree.u_first[i]
            moved[i, tree.u_rows[first : first + tree.n_u[i]]] = 1.0
        return moved

    @cached_property
    def _quaternions(self) -> list[tuple[str, list[int]]]:
        """(joint, columns of q) of every quaternion."""
        tree = self.tree
        return [
            (self.node_joint[i], [int(k) for k in tree.q_rows[tree.q_first[i] : tree.q_first[i] + 4]])
            for i in np.flatnonzero(tree.quaternion)
        ]

    @property
    def quaternion_columns(self) -> list[list[int]]:
        """Columns of q of every quaternion."""
        return [columns for _, columns in self._quaternions]

    def check_coordinates(self, q: FloatArray) -> None:
        """Refuse q (frames, n) whose quaternions have no direction: they are no rotation.

        Raises:
            InvalidInput: naming the joint and the frame.
        """
        for joint, columns in self._quaternions:
            empty = np.flatnonzero(~q[:, columns].any(axis=1))
            if empty.size:
                raise InvalidInput(
                    f"q holds a quaternion of zero length for joint {joint!r} at frame {empty[0]}; "
                    "a body that is not turned has (1, 0, 0, 0)"
                )


def compile_model(model: Model, merged: bool = True) -> CompiledModel:
    """Order, fold and merge a model into arrays."""
    nodes: list[Node] = [Node(WELD, Pose.identity(), joint=GROUND)]
    parents = [0]
    body_node, body_pose = {GROUND: 0}, {GROUND: Pose.identity()}
    joint_node: dict[str, int] = {}
    joint_outboard: dict[str, Pose] = {}
    joint_reversed: dict[str, bool] = {}
    for edge in tree_order(model.joints, model.body_names):
        joint = model.joints[edge.joint_index]
        inboard, outboard = (joint.child, joint.parent) if edge.reversed else (joint.parent, joint.child)
        node = body_node[inboard.body]
        chain = NodeChain(joint, body_pose[inboard.body] @ placed(inboard), edge.reversed)
        if not chain.nodes and not merged:
            chain.nodes.append(Node(WELD, chain.after, joint=joint.name))
            chain.after = Pose.identity()
        for new in chain.nodes:
            nodes.append(new)
            parents.append(node)
            node = len(nodes) - 1
        body_node[outboard.body] = node
        body_pose[outboard.body] = chain.after @ placed(outboard).inverse()
        joint_node[joint.name] = node
        joint_outboard[joint.name] = chain.after
        joint_reversed[joint.name] = edge.reversed
    functions: list[Function] = []
    tree = _arrays(model, nodes, parents, _node_inertias(model, len(nodes), body_node, body_pose), functions)
    return CompiledModel(
        tree,
        compile_functions(functions),
        body_node,
        body_pose,
        joint_node,
        joint_outboard,
        joint_reversed,
        tuple(node.joint for node in nodes),
    )


def _node_inertias(
    model: Model, n: int, body_node: dict[str, int], body_pose: dict[str, Pose]
) -> tuple[FloatArray, IntArray]:
    """(n, 10) mass, first moment, tensor about the node's origin; and where all of it is zero."""
    inertia, massless = np.zeros((n, 10)), np.ones(n, dtype=np.int64)
    parts: dict[int, list[RigidInertia]] = {}
    for body in model.bodies:
        given = RigidInertia(body.mass, np.asarray(body.mass_center, dtype=float), tensor(body.inertia))
        if body.mass != 0.0 or np.any(given.central):
            parts.setdefault(body_node[body.name], []).append(given.in_frame(body_pose[body.name]))
    for node, bodies in parts.items():
        m, c, J = RigidInertia.total(bodies)
        J = J + m * (c @ c * np.eye(3) - np.outer(c, c))
        inertia[node] = [m, *(m * c), J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]]
        massless[node] = 0
    return inertia, massless


def _arrays(
    model: Model,
    nodes: list[Node],
    parents: list[int],
    inertias: tuple[FloatArray, IntArray],
    functions: list[Function],
) -> Tree:
    """Fill the arrays of a tree; collects the functions that drive its axes."""
    n = len(nodes)
    q_column = {name: k for k, name in enumerate(model.coordinate_names)}
    u_column = {name: k for k, name in enumerate(model.speed_names)}
    axes = np.zeros((n, 6, 3))
    function = np.full((n, 6), -1, dtype=np.int64)
    argument_first = np.zeros((n, 6), dtype=np.int64)
    argument_rows: list[int] = []
    argument_dof: list[int] = []
    for i, node in enumerate(nodes):
        for j, axis in enumerate(node.axes):
            if axis is None:
                continue
            wanted = axis.function.n_arguments
            if wanted > len(axis.coordinates):
                raise InvalidModel(
                    f"joint {node.joint!r}: a function of {wanted} coordinates is given {len(axis.coordinates)}"
                )
            if wanted > _MOST_ARGUMENTS:  # kernels have room for no more
                raise InvalidModel(
                    f"joint {node.joint!r}: a function of {wanted} coordinates moves it; a joint has "
                    f"{_MOST_ARGUMENTS} at most"
                )
            axes[i, j] = unit(axis.direction, node.joint)
            function[i, j] = len(functions)
            argument_first[i, j] = len(argument_rows)
            functions.append(axis.function)
            for name in axis.coordinates[:wanted]:
                argument_rows.append(q_column[name])
                argument_dof.append(node.coordinates.index(name))
    # a constant axis reads row 0 of q and nothing of it; the lists are never empty
    argument_rows.append(0)
    argument_dof.append(0)
    inertia, massless = inertias

    def ints(values: list[int]) -> IntArray:
        return np.array(values, dtype=np.int64)

    q_counts, u_counts = [len(x.coordinates) for x in nodes], [len(x.speeds) for x in nodes]
    return Tree(
        parent=ints(parents),
        kind=ints([x.kind for x in nodes]),
        q_first=ints([sum(q_counts[:i]) for i in range(n)]),
        q_rows=ints([q_column[name] for x in nodes for name in x.coordinates]),
        u_first=ints([sum(u_counts[:i]) for i in range(n)]),
        n_u=ints(u_counts),
        u_rows=ints([u_column[name] for x in nodes for name in x.speeds]),
        R_PF=np.ascontiguousarray(np.stack([x.X_PF.R for x in nodes]).reshape(n, 9)),
        p_PF=np.ascontiguousarray(np.stack([x.X_PF.p for x in nodes])),
        inertia=inertia,
        massless=massless,
        reversed=ints([int(x.reversed) for x in nodes]),
        guided=ints([int(x.guided) for x in nodes]),
        quaternion=ints([int(x.quaternion) for x in nodes]),
        radii=np.array([x.radii for x in nodes], dtype=float),
        axes=axes,
        function=function,
        argument_first=argument_first,
        argument_rows=ints(argument_rows),
        argument_dof=ints(argument_dof),
        gravity=np.array(model.gravity, dtype=float),
    )


def check_model(model: object) -> None:
    """Refuse what is not a model."""
    if not isinstance(model, Model):
        raise InvalidInput(
            f"a Model is needed, not {type(model).__name__} {model!r:.60}; read one with read_osim(path)"
        )


def compiled(model: Model, merged: bool = True) -> CompiledModel:
    """The compiled form of a model, made once.

    Raises:
        InvalidInput: the argument is not a model.
    """
    check_model(model)
    return model.derived(("compiled", merged), lambda: compile_model(model, merged))
