"""Nonlinear programs, and what solves them.

`nonlinear_program` (what a solver asks of a program) -> `program_check` -> `ipopt` (the solver), which calls
`ipopt_library` (the C interface) with `evaluations` (the program's functions, each once at each point) and returns
an `outcome` (how it ended, in numbers and words).
Its linear equations are solved by `sparse_factors`, which `ma57` shows to IPOPT in a `shared_object`; else by MUMPS.
`interrupts` says what Ctrl-C does.
"""
