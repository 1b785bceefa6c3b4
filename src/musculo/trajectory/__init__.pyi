"""What `musculo.trajectory` shows and the module that holds it, a line each; `__init__` imports by this list."""

from musculo.trajectory.muscles.muscle_inverse import muscle_inverse as muscle_inverse
