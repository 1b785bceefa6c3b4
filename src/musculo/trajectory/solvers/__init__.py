"""Nonlinear programs, and what solves them.

`nonlinear_program` (what a solver asks of a program) -> `program_check` -> `ipopt` (the solver), which calls
`ipopt_library` (the C interface) with `evaluations` (the program's functions, each once at each point) and returns
an `outcome` (how it ended, in numbers and words).
"""
