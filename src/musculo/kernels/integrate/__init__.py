"""Steps in time: the methods, and the rates of each kind of state."""
