"""What `musculo.opensim` shows and the module that holds it, a line each; `__init__` imports by this list."""

from musculo.analyses.inverse_kinematics.setup_tasks import tasks_of_setup as tasks_of_setup
from musculo.analyses.scaling.scale_factors import factors_of_setup as factors_of_setup
from musculo.io.controls.control_limits import read_control_limits as read_control_limits
from musculo.io.setup import AnalyzeSetup as AnalyzeSetup
from musculo.io.setup import CMCSetup as CMCSetup
from musculo.io.setup import ForwardSetup as ForwardSetup
from musculo.io.setup import IMUInverseKinematicsSetup as IMUInverseKinematicsSetup
from musculo.io.setup import IMUPlacerSetup as IMUPlacerSetup
from musculo.io.setup import InverseDynamicsSetup as InverseDynamicsSetup
from musculo.io.setup import InverseKinematicsSetup as InverseKinematicsSetup
from musculo.io.setup import RRASetup as RRASetup
from musculo.io.setup import ScaleSetup as ScaleSetup
from musculo.io.setup import read_setup as read_setup
from musculo.io.setup import read_tasks as read_tasks
from musculo.io.setup import read_tracking_tasks as read_tracking_tasks
from musculo.io.setup.tracking_tasks import CoordinateTracking as CoordinateTracking
from musculo.opensim_tools.records.result import ToolResult as ToolResult
from musculo.opensim_tools.setup_runner import run_setup as run_setup
