"""Which variables of sparse symmetric equations are eliminated together, and which others each group touches.

Source: Liu (1990), The role of elimination trees in sparse factorization, SIAM Journal on Matrix Analysis and
Applications 11, 134-172; groups are merged as in Ashcraft and Grimes (1989), The influence of relaxed supernode
partitions on the multifrontal method, ACM Transactions on Mathematical Software 15, 291-309.
"""

from __future__ import annotations

from typing import NamedTuple

from musculo.arrays import IntArray
from musculo.kernels.compiler.parts import driver, kernel

# Groups smaller than this merge with their parent: small dense equations cost more in bookkeeping than in zeros.
_SMALL = 8
# To move a number from a front to its parent takes as long as so many operations on zeros that merging both stores.
_MOVED = 8


class Graph(NamedTuple):
    """Which variables have an equation in common, each edge at both ends."""

    start: IntArray  # (nodes + 1,)
    neighbors: IntArray  # (edges,)


class Groups(NamedTuple):
    """Nodes that are eliminated at once, by the last of each group."""

    parent: IntArray  # (nodes,) the last node of the parent; -1 at a root
    group_of: IntArray  # (nodes,) of every node
    size: IntArray  # (nodes,) how many nodes it has
    touched: IntArray  # (nodes,) how many it touches


class FrontLists(NamedTuple):
    """Groups in the order of elimination, and the nodes of each."""

    tree: IntArray  # (fronts,) the parent of each; -1 at a root
    own: IntArray  # (fronts + 1,) where the lists begin in
    rows: IntArray  # (all,) the nodes that a front eliminates, then those that it touches


@kernel
def _parents(start, neighbors, place, node_at, parent, ancestor):
    """The elimination tree: the parent of a node is the first eliminated after it that it touches."""
    for k in range(node_at.size):
        node = node_at[k]
        parent[node] = -1
        ancestor[node] = -1
        for e in range(start[node], start[node + 1]):
            below = neighbors[e]
            if place[below] >= k:
                continue
            while ancestor[below] != -1 and ancestor[below] != node:  # with shortened paths
                following = ancestor[below]
                ancestor[below] = node
                below = following
            if ancestor[below] == -1:
                ancestor[below] = node
                parent[below] = node


@kernel
def _touched(start, neighbors, place, node_at, parent, mark, touched):
    """How many variables each node touches that are eliminated after it."""
    for node in range(parent.size):
        touched[node] = 0
        mark[node] = -1
    for k in range(node_at.size):
        node = node_at[k]
        mark[node] = node
        for e in range(start[node], start[node + 1]):
            below = neighbors[e]
            if place[below] >= k:
                continue
            while mark[below] != node:
                mark[below] = node
                touched[below] += 1
                below = parent[below]


@driver
def group(graph, node_at, place, groups, room):
    """Merge nodes of a graph, the variables, into groups that are eliminated at once; the number of groups.

    Args:
        graph: `Graph`.
        node_at: (nodes,) the order of elimination.
        place: (nodes,) set to the place of each node in `node_at`.
        groups: `Groups`, written.
        room: (3, nodes) to work in.
    """
    start, neighbors = graph.start, graph.neighbors
    parent, group_of, size, touched = groups.parent, groups.group_of, groups.size, groups.touched
    count = node_at.size
    for k in range(count):
        place[node_at[k]] = k
    tree, first, following = room[0], room[1], room[2]
    _parents(start, neighbors, place, node_at, tree, first)
    _touched(start, neighbors, place, node_at, tree, first, touched)
    for node in range(count):
        first[node] = -1
        following[node] = -1
        group_of[node] = node
        size[node] = 1
    number = count
    for k in range(count):
        node = node_at[k]
        child = first[node]
        first[node] = -1
        while child != -1:
            after = following[child]
            front = size[node] + touched[node]
            zeros = size[child] * (front - touched[child])
            small = size[child] < _SMALL and size[node] < _SMALL
            if small or zeros * front <= _MOVED * touched[child] * touched[child]:
                group_of[child] = node
                size[node] += size[child]
                number -= 1
                # its children are the group's now; they were tried once
                grandchild = first[child]
                while grandchild != -1:
                    last = following[grandchild]
                    following[grandchild] = first[node]
                    first[node] = grandchild
                    grandchild = last
            else:
                following[child] = first[node]
                first[node] = child
            child = after
        if tree[node] != -1:
            following[node] = first[tree[node]]
            first[tree[node]] = node
    for k in range(count - 1, -1, -1):  # from the root: who merged into whom
        node = node_at[k]
        if group_of[node] != node:
            group_of[node] = group_of[group_of[node]]
    for node in range(count):
        parent[node] = group_of[tree[node]] if group_of[node] == node and tree[node] != -1 else -1
    return number


@driver
def fronts(node_at, groups, front_of, lists, room):
    """Number the groups, children before parents, and list the nodes of each: the number of fronts.

    Args:
        node_at, groups: of `group`.
        front_of: (nodes,) set to the front in which each is eliminated.
        lists: `FrontLists`, written, but for the nodes that fronts touch.
        room: (4, nodes) to work in; set to the first node of each front, and the next node of the same front.
    """
    parent, group_of, size, touched = groups.parent, groups.group_of, groups.size, groups.touched
    tree, own, rows = lists.tree, lists.own, lists.rows
    count = node_at.size
    first, following, number, stack = room[0], room[1], room[2], room[3]
    for node in range(count):
        first[node] = -1
    roots = -1
    for k in range(count - 1, -1, -1):
        node = node_at[k]
        if group_of[node] != node:
            continue
        if parent[node] == -1:
            following[node] = roots
            roots = node
        else:
            following[node] = first[parent[node]]
            first[parent[node]] = node
    # children before parents, and a parent right after its last child: what waits is a stack
    numbered = 0
    root = roots
    while root != -1:
        stack[0] = root
        depth = 1
        while depth > 0:
            node = stack[depth - 1]
            if first[node] != -1:
                stack[depth] = first[node]
                first[node] = following[first[node]]
                depth += 1
            else:
                number[node] = numbered
                numbered += 1
                depth -= 1
        root = following[root]
    own[0] = 0
    for node in range(count):
        if group_of[node] == node:
            s = number[node]
            tree[s] = number[parent[node]] if parent[node] != -1 else -1
            own[s + 1] = size[node] + touched[node]
    for s in range(numbered):
        own[s + 1] += own[s]
    # the nodes that are eliminated, in the order of elimination
    filled = stack
    for s in range(numbered):
        filled[s] = own[s]
    for k in range(count):
        node = node_at[k]
        s = number[group_of[node]]
        rows[filled[s]] = node
        front_of[node] = s
        filled[s] += 1
    # nodes of each group, linked, and children of each, to collect what is touched
    node_of, linked = first, following
    for s in range(numbered):
        node_of[s] = -1
    for node in range(count):
        s = number[group_of[node]]
        linked[node] = node_of[s]
        node_of[s] = node
    return numbered


@driver
def touch(graph, linked_nodes, front_of, lists, size, room):
    """List what each front touches beyond what it eliminates, from the graph and from its children.

    Args:
        graph: `Graph`.
        linked_nodes: (2 or more, nodes) the first node of each front, and the next of the same front; of `fronts`.
        front_of, lists: of `fronts`; what a front touches is written behind what it eliminates.
        size: (fronts,) how many nodes each eliminates.
        room: (2, nodes) to work in.
    """
    start, neighbors, node_of, linked = graph.start, graph.neighbors, linked_nodes[0], linked_nodes[1]
    tree, own, rows = lists.tree, lists.own, lists.rows
    mark, filled = room[0], room[1]
    for v in range(front_of.size):
        mark[v] = -1
    for s in range(tree.size):
        filled[s] = own[s] + size[s]
    for s in range(tree.size):
        # what children have put here is marked already
        for k in range(own[s] + size[s], filled[s]):
            mark[rows[k]] = s
        node = node_of[s]
        while node != -1:
            for e in range(start[node], start[node + 1]):
                v = neighbors[e]
                if front_of[v] > s and mark[v] != s:
                    mark[v] = s
                    rows[filled[s]] = v
                    filled[s] += 1
            node = linked[node]
        above = tree[s]
        if above == -1:
            continue
        for k in range(own[above] + size[above], filled[above]):
            mark[rows[k]] = above
        for k in range(own[s] + size[s], filled[s]):
            v = rows[k]
            if front_of[v] != above and mark[v] != above:
                mark[v] = above
                rows[filled[above]] = v
                filled[above] += 1
