"""How the Python of kernels becomes machine code, and how that is found again.

`parts` marks functions as kernels and drivers, and `overloads` which functions stand for plain ones in kernels; nothing
of Numba is imported for it. A driver that is called looks for its machine code (`driver_code`) among what is known
(`known_code`): the libraries that the package carries (`shipped`), the user's cache (`store`). Else it is compiled
(`workers`, `build`) by the files of `machine_code`: every kernel is lowered once, and what a driver reaches is linked,
optimized and written once, behind an entry that takes Python's arguments apart. Code is named by a hash of its sources
and its signature (`names`, `signature`); `canonical` lists the drivers that ship.
"""
