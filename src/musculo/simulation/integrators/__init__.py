"""Steps in time: one-step and multistep methods, the error they control, what is between steps, events."""
