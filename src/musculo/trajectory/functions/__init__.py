"""Node functions: of models (`inverse_dynamics`, `points`, `ground_support`), of recordings (`deviation`), a user's own
(`node_formula`). `rates` has what those of models have in common."""
