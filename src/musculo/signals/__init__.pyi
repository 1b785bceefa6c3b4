"""What `musculo.signals` shows and the module that holds it, a line each; `__init__` imports by this list."""

from musculo.signals.emg import EmgAgreement as EmgAgreement
from musculo.signals.emg import emg_agreement as emg_agreement
from musculo.signals.emg import emg_envelope as emg_envelope
from musculo.signals.filters import lowpass as lowpass
from musculo.signals.gait_events import events_from_force as events_from_force
from musculo.signals.gait_events import events_from_markers as events_from_markers
from musculo.signals.joint_centers import ClusterPoses as ClusterPoses
from musculo.signals.joint_centers import FunctionalCenter as FunctionalCenter
from musculo.signals.joint_centers import HipCenters as HipCenters
from musculo.signals.joint_centers import cluster_poses as cluster_poses
from musculo.signals.joint_centers import functional_joint_center as functional_joint_center
from musculo.signals.joint_centers import predicted_hip_centers as predicted_hip_centers
from musculo.signals.natural_smoothing import NaturalSpline as NaturalSpline
from musculo.signals.natural_smoothing import resample as resample
from musculo.signals.natural_smoothing import smoothing_spline as smoothing_spline
from musculo.signals.natural_smoothing import time_derivative as time_derivative
from musculo.signals.residual import residual_cutoff as residual_cutoff
from musculo.signals.shoulder_girdle import ClavicleOrientation as ClavicleOrientation
from musculo.signals.shoulder_girdle import ClosedGirdle as ClosedGirdle
from musculo.signals.shoulder_girdle import ShoulderGirdle as ShoulderGirdle
from musculo.signals.shoulder_girdle import clavicle_orientation as clavicle_orientation
from musculo.signals.shoulder_girdle import close_girdle as close_girdle
