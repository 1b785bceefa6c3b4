"""What `musculo.trajectory` shows and the module that holds it, a line each; `__init__` imports by this list."""

from musculo.trajectory.functions.formula import Formula as Formula
from musculo.trajectory.functions.inverse_dynamics import InverseDynamics as InverseDynamics
from musculo.trajectory.muscles.muscle_inverse import muscle_inverse as muscle_inverse
from musculo.trajectory.node_function import NodeFunction as NodeFunction
from musculo.trajectory.predicted_motion import PredictedMotion as PredictedMotion
from musculo.trajectory.problem.constraints import At as At
from musculo.trajectory.problem.constraints import Periodic as Periodic
from musculo.trajectory.problem.constraints import Throughout as Throughout
from musculo.trajectory.problem.goals import Effort as Effort
from musculo.trajectory.problem.goals import Endpoint as Endpoint
from musculo.trajectory.problem.goals import Integral as Integral
from musculo.trajectory.problem.goals import Smoothness as Smoothness
from musculo.trajectory.problem.goals import Time as Time
from musculo.trajectory.problem.problem import Problem as Problem
from musculo.trajectory.problem.variables import Control as Control
from musculo.trajectory.problem.variables import Coordinate as Coordinate
from musculo.trajectory.problem.variables import Parameter as Parameter
from musculo.trajectory.problem.variables import State as State
from musculo.trajectory.problem.variables import model_coordinates as model_coordinates
from musculo.trajectory.transcription.bsplines import BSplines as BSplines
from musculo.trajectory.transcription.schemes import HermiteSimpson as HermiteSimpson
from musculo.trajectory.transcription.schemes import Radau as Radau
from musculo.trajectory.transcription.schemes import Trapezoidal as Trapezoidal
