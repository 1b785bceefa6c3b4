"""Which variables of sparse symmetric equations are eliminated together, and which others each group touches.

Source: Liu (1990), The role of elimination trees in sparse factorization, SIAM Journal on Matrix Analysis and
Applications 11, 134-172; groups are merged as in Ashcraft and Grimes (1989), The influence of relaxed supernode
partitions on the multifrontal method, ACM Transactions on Mathematical Software 15, 291-309.
"""

from __future__ import annotations

from musculo.kernels.compiler.parts import driver, kernel

# Groups smaller than this merge with their parent: small dense equations cost more in bookkeeping than in zeros.
_SMALL = 8
# To move a number from a front to its parent takes as long as so many operations on zeros that merging both stores.
_MOVED = 8


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
def group(start, neighbors, node_at, place, parent, group_of, size, touched, room):
    """Merge nodes of a graph, the variables, into groups that are eliminated at once; the number of groups.

    Args:
        start, neighbors: (nodes + 1,), (edges,) the graph, each edge at both ends.
        node_at: (nodes,) the order of elimination.
        place: (nodes,) set to the place of each node in `node_at`.
        parent: (nodes,) set to the parent of the group whose last node this is, by the last node of that; -1 at a root.
        group_of: (nodes,) set to the last node of the group that each node belongs to.
        size: (nodes,) set, for last nodes, to the number of nodes of the group.
        touched: (nodes,) set, for last nodes, to the number of nodes that the group touches.
        room: (3, nodes) to work in.
    """
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
    groups = count
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
                groups -= 1
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
    return groups


@driver
def fronts(node_at, parent, group_of, size, touched, front_of, tree, own, rows, room):
    """Number the groups, children before parents, and list the nodes of each: the number of fronts.

    Args:
        node_at, parent, group_of, size, touched: of `group`.
        front_of: (nodes,) set to the front in which each is eliminated.
        tree: (groups,) set to the parent of each front; -1 at a root.
        own: (groups + 1,) set to the places in `rows` where the fronts' lists begin, of which
        rows: (all,) set to the nodes that a front eliminates, then those that it touches.
        room: (4, nodes) to work in; set to the first node of each front, and the next node of the same front.
    """
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
def touch(start, neighbors, node_of, linked, front_of, tree, own, rows, size, room):
    """List what each front touches beyond what it eliminates, from the graph and from its children.

    Args:
        start, neighbors: the graph.
        node_of, linked: (nodes,) the first node of each front, and the next of the same front; of `fronts`.
        front_of, tree, own, rows: of `fronts`; what a front touches is written behind what it eliminates.
        size: (fronts,) how many nodes each eliminates.
        room: (2, nodes) to work in.
    """
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
