"""How machine code is made: Numba and LLVM are known here only, and imported only when something is compiled.

`lowering` (each kernel once) -> `entry` (a driver behind two functions, as an object file), which writes `runtime`
beside it. `references`, `packs`, `masks`, `straight_line` and `calls` say what the types and operations of kernels are
to Numba.
"""
