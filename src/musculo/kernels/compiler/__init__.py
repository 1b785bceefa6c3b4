"""How the Python of kernels becomes machine code, and how that is found again.

`parts` marks functions as kernels and drivers; nothing of Numba is imported for it. A driver that is called looks for
its machine code (`code`): in the libraries that the package carries (`shipped`), in the user's cache (`store`), else it
is compiled (`workers`, `build`): every kernel is lowered once (`lowering`), and what a driver reaches is linked,
optimised and written once, behind an entry that takes Python's arguments apart (`entry`). Code is named by a hash of
its sources and its signature (`names`, `signature`); `canonical` lists the drivers that ship.
"""
