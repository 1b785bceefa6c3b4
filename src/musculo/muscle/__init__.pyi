"""What `musculo.muscle` shows and the module that holds it, a line each; `__init__` imports by this list."""

from musculo.muscle.fibers.activation import activation_rate as activation_rate
from musculo.muscle.fibers.capacity import active_force_capacity as active_force_capacity
from musculo.muscle.fibers.de_groote_fregly import with_de_groote_fregly_muscles as with_de_groote_fregly_muscles
from musculo.muscle.fibers.equilibrium import muscle_equilibrium as muscle_equilibrium
from musculo.muscle.fibers.equilibrium import muscle_force as muscle_force
from musculo.muscle.fibers.fatigue import FATIGUE_RATES as FATIGUE_RATES
from musculo.muscle.fibers.fatigue import FatigueRates as FatigueRates
from musculo.muscle.fibers.fatigue import endurance_time as endurance_time
from musculo.muscle.fibers.fatigue import fatigue_rate as fatigue_rate
from musculo.muscle.fibers.force_derivatives import equilibrium_residual as equilibrium_residual
from musculo.muscle.fibers.force_derivatives import muscle_force_derivatives as muscle_force_derivatives
from musculo.muscle.fibers.metabolic_cost import Bhargava2004 as Bhargava2004
from musculo.muscle.fibers.metabolic_cost import metabolic_rate as metabolic_rate
from musculo.muscle.fitted_paths.polynomial_paths import fit_paths as fit_paths
from musculo.muscle.hill_curves.curves import muscle_curves as muscle_curves
from musculo.muscle.path_loads.path_forces import path_generalized_forces as path_generalized_forces
from musculo.muscle.path_loads.path_forces import path_tensions as path_tensions
from musculo.muscle.paths.geometry import muscle_geometry as muscle_geometry
from musculo.muscle.paths.geometry import path_geometry as path_geometry
