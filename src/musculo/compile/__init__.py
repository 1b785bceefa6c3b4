"""Model -> arrays: folding, merging, ordering."""
