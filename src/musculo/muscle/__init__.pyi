"""What `musculo.muscle` shows and the module that holds it, a line each; `__init__` imports by this list."""

from musculo.muscle.activation import activation_rate as activation_rate
from musculo.muscle.capacity import active_force_capacity as active_force_capacity
from musculo.muscle.curves import muscle_curves as muscle_curves
from musculo.muscle.equilibrium import muscle_equilibrium as muscle_equilibrium
from musculo.muscle.equilibrium import muscle_force as muscle_force
from musculo.muscle.geometry import muscle_geometry as muscle_geometry
from musculo.muscle.geometry import path_geometry as path_geometry
from musculo.muscle.path_forces import path_generalized_forces as path_generalized_forces
from musculo.muscle.path_forces import path_tensions as path_tensions
from musculo.muscle.polynomial_paths import fit_paths as fit_paths
