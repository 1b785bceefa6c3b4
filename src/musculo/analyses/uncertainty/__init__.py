"""How uncertain the results of a trial are, and which input that comes from.

`inputs` (what varies, and how) -> `subject_changes` (one draw of it all) -> `sample_chain` (markers to joint loads of
one draw) -> `sampling` (which draws, over all cores) -> `spread` (percentiles and shares of variance) -> `uncertain`.
"""
