"""What `musculo.simulation` shows and the module that holds it, a line each; `__init__` imports by this list."""

from musculo.analyses.tracking.acceleration_targets import tracking_targets as tracking_targets
from musculo.analyses.tracking.computed_muscle_control import computed_muscle_control as computed_muscle_control
from musculo.analyses.tracking.desired_motion import desired_motion as desired_motion
from musculo.analyses.tracking.mass_center import adjusted_mass_center as adjusted_mass_center
from musculo.analyses.tracking.residual_reduction import residual_reduction as residual_reduction
from musculo.simulation.equations.constraint_projection import constraint_drift as constraint_drift
from musculo.simulation.equations.constraint_projection import project_position as project_position
from musculo.simulation.equations.constraint_projection import project_velocity as project_velocity
from musculo.simulation.forces.computed_torque import ComputedTorque as ComputedTorque
from musculo.simulation.integrators.simulation_events import SimulationEvent as SimulationEvent
from musculo.simulation.many import Simulations as Simulations
from musculo.simulation.muscles.excitations import actuator_names as actuator_names
from musculo.simulation.muscles.muscle_motion import MuscleMotion as MuscleMotion
from musculo.simulation.muscles.muscles_as_force import ControllerState as ControllerState
