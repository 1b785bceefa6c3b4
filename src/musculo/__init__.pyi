"""Every name at the top and the module that holds it, a line each; `__init__` imports it from there on first use."""

from musculo import absolute as absolute
from musculo import demo as demo
from musculo import errors as errors
from musculo import io as io
from musculo import model as model
from musculo import muscle as muscle
from musculo import opensim as opensim
from musculo import report as report
from musculo import results as results
from musculo import signals as signals
from musculo import simulation as simulation
from musculo import study as study
from musculo import trajectory as trajectory
from musculo import viewer as viewer
from musculo.analyses.body_kinematics import body_kinematics as body_kinematics
from musculo.analyses.body_kinematics import point_kinematics as point_kinematics
from musculo.analyses.equations_of_motion import equations_of_motion as equations_of_motion
from musculo.analyses.foot_loads import foot_loads as foot_loads
from musculo.analyses.inverse_dynamics_with_loads import inverse_dynamics as inverse_dynamics
from musculo.analyses.inverse_kinematics.follow_recording import inverse_kinematics as inverse_kinematics
from musculo.analyses.inverse_kinematics.follow_segments import follow_segments as follow_segments
from musculo.analyses.joint_loads import joint_loads as joint_loads
from musculo.analyses.mechanical_work import joint_power as joint_power
from musculo.analyses.mechanical_work import muscle_power as muscle_power
from musculo.analyses.mechanical_work import work as work
from musculo.analyses.muscle_analysis import muscle_analysis as muscle_analysis
from musculo.analyses.recorded_motion import motion_of as motion_of
from musculo.analyses.scaling.subject_scaling import scale_model as scale_model
from musculo.analyses.static_optimization.share_load import static_optimisation as static_optimisation
from musculo.analyses.static_optimization.share_load import static_optimization as static_optimization
from musculo.analyses.uncertainty.inputs import CenterOfPressure as CenterOfPressure
from musculo.analyses.uncertainty.inputs import LoadMagnitude as LoadMagnitude
from musculo.analyses.uncertainty.inputs import MarkerPlacement as MarkerPlacement
from musculo.analyses.uncertainty.inputs import MuscleParameter as MuscleParameter
from musculo.analyses.uncertainty.inputs import SegmentMass as SegmentMass
from musculo.analyses.uncertainty.inputs import SegmentMassCenter as SegmentMassCenter
from musculo.analyses.uncertainty.uncertain import uncertainty as uncertainty
from musculo.diagnostics.support import known_support as known_support
from musculo.dynamics.constrained_dynamics import constrained_acceleration as constrained_acceleration
from musculo.dynamics.constrained_dynamics import constraint_residuals as constraint_residuals
from musculo.dynamics.derivatives.body_derivatives import body_derivatives as body_derivatives
from musculo.dynamics.derivatives.dynamics_derivatives import (
    forward_dynamics_derivatives as forward_dynamics_derivatives,
)
from musculo.dynamics.derivatives.dynamics_derivatives import (
    inverse_dynamics_derivatives as inverse_dynamics_derivatives,
)
from musculo.dynamics.derivatives.dynamics_derivatives import mass_matrix_derivatives as mass_matrix_derivatives
from musculo.dynamics.derivatives.frame_derivatives import joint_frame_derivatives as joint_frame_derivatives
from musculo.dynamics.derivatives.inertia_regressor import inverse_dynamics_regressor as inverse_dynamics_regressor
from musculo.dynamics.derivatives.reaction_derivatives import joint_reaction_derivatives as joint_reaction_derivatives
from musculo.dynamics.energy import center_of_mass as center_of_mass
from musculo.dynamics.energy import kinetic_energy as kinetic_energy
from musculo.dynamics.energy import momentum as momentum
from musculo.dynamics.energy import potential_energy as potential_energy
from musculo.dynamics.energy import total_mass as total_mass
from musculo.dynamics.forward import forward_dynamics as forward_dynamics
from musculo.dynamics.inverse import bias_forces as bias_forces
from musculo.dynamics.inverse import gravity_forces as gravity_forces
from musculo.dynamics.inverse import mass_matrix as mass_matrix
from musculo.dynamics.loads.external import ExternalLoad as ExternalLoad
from musculo.dynamics.loads.joint_reactions import joint_reactions as joint_reactions
from musculo.dynamics.poses import kinematics as kinematics
from musculo.dynamics.prepared import prepared as prepared
from musculo.embedding.embedding import embedding_of as embedding_of
from musculo.embedding.speed_rates import coordinate_rates as coordinate_rates
from musculo.embedding.speed_rates import speeds_from_rates as speeds_from_rates
from musculo.errors import MusculoError as MusculoError
from musculo.errors import MusculoWarning as MusculoWarning
from musculo.forces.model_forces import model_forces as model_forces
from musculo.io.c3d import read_c3d as read_c3d
from musculo.io.external_load_files import read_external_loads as read_external_loads
from musculo.io.marker_columns import read_markers as read_markers
from musculo.io.netcdf import write_netcdf as write_netcdf
from musculo.io.osim import read_osim as read_osim
from musculo.io.osim import write_osim as write_osim
from musculo.io.storage import read_storage as read_storage
from musculo.io.storage import write_storage as write_storage
from musculo.io.trc import read_trc as read_trc
from musculo.io.trc import write_trc as write_trc
from musculo.model.body import Body as Body
from musculo.model.body import Marker as Marker
from musculo.model.body import Placement as Placement
from musculo.model.coordinate import Coordinate as Coordinate
from musculo.model.force import Muscle as Muscle
from musculo.model.joints import PinJoint as PinJoint
from musculo.model.model import Model as Model
from musculo.model.model_constraint import PointConstraint as PointConstraint
from musculo.muscle.fibers.equilibrium import muscle_equilibrium as muscle_equilibrium
from musculo.muscle.fibers.equilibrium import muscle_force as muscle_force
from musculo.muscle.path_loads.path_forces import path_tensions as path_tensions
from musculo.muscle.path_loads.path_wrenches import path_wrenches as path_wrenches
from musculo.muscle.paths.geometry import muscle_geometry as muscle_geometry
from musculo.muscle.paths.geometry import path_geometry as path_geometry
from musculo.muscle.paths.moment_arm_derivatives import moment_arm_derivatives as moment_arm_derivatives
from musculo.results.markers import Markers as Markers
from musculo.results.table import Table as Table
from musculo.signals.natural_smoothing import time_derivative as time_derivative
from musculo.simulation.forces.computed_torque import computed_torque as computed_torque
from musculo.simulation.many import simulate_many as simulate_many
from musculo.simulation.simulate import simulate as simulate
from musculo.viewer import view as view

__version__: str
