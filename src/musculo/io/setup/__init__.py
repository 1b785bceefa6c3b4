"""Set-up files of OpenSim's tools: what a user asked for, as frozen values with every property the tool knows."""

from __future__ import annotations

from musculo.io.setup.analyses import (
    ActuationAnalysis,
    Analysis,
    BodyKinematicsAnalysis,
    ForceReporterAnalysis,
    JointReactionAnalysis,
    KinematicsAnalysis,
    MuscleAnalysis,
    OtherAnalysis,
    PointKinematicsAnalysis,
    StaticOptimizationAnalysis,
)
from musculo.io.setup.dynamics_setups import AnalyzeSetup, InverseDynamicsSetup
from musculo.io.setup.kinematics_setups import CoordinateTask, InverseKinematicsSetup, MarkerTask
from musculo.io.setup.model_tool_setup import ModelToolSetup
from musculo.io.setup.scale_setup import ManualScale, ScaleSetup
from musculo.io.setup.sensor_setups import IMUInverseKinematicsSetup, IMUPlacerSetup, OrientationWeight
from musculo.io.setup.setup_reader import Setup, read_setup, read_tasks
from musculo.io.setup.simulation_setups import CMCSetup, ForwardSetup, RRASetup, TrackingSetup
from musculo.io.setup.tracking_tasks import (
    CoordinateTracking,
    OtherTracking,
    PointTracking,
    TrackingTasks,
    read_tracking_tasks,
)

__all__ = [
    "ActuationAnalysis",
    "Analysis",
    "AnalyzeSetup",
    "BodyKinematicsAnalysis",
    "CMCSetup",
    "CoordinateTask",
    "CoordinateTracking",
    "ForceReporterAnalysis",
    "ForwardSetup",
    "IMUInverseKinematicsSetup",
    "IMUPlacerSetup",
    "InverseDynamicsSetup",
    "InverseKinematicsSetup",
    "JointReactionAnalysis",
    "KinematicsAnalysis",
    "ManualScale",
    "MarkerTask",
    "ModelToolSetup",
    "MuscleAnalysis",
    "OrientationWeight",
    "OtherAnalysis",
    "OtherTracking",
    "PointKinematicsAnalysis",
    "PointTracking",
    "RRASetup",
    "ScaleSetup",
    "Setup",
    "StaticOptimizationAnalysis",
    "TrackingSetup",
    "TrackingTasks",
    "read_setup",
    "read_tasks",
    "read_tracking_tasks",
]
