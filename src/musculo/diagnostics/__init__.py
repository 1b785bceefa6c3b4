"""Is it plausible? What in recordings, motions, loads and paths speaks against a result, for all who make or show one.

Checks compute nothing that a result depends on. They return findings; analyses hand them on as warnings and notes of
results, tools as notes and troubles of a run, reports as lines of a summary.
"""
