"""What acts on a model in a simulation besides muscles: given forces, control laws, loads from recordings."""
