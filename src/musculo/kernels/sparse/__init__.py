"""Sparse symmetric equations, indefinite ones too: the multifrontal method.

`elimination` (which variables are eliminated together, in what order) -> `fronts` (dense equations of one group:
pivots and updates) -> `factors` (factorization and solution, drivers).
"""
