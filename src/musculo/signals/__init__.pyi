"""What `musculo.signals` shows and the module that holds it, a line each; `__init__` imports by this list."""

from musculo.signals.emg import EmgAgreement as EmgAgreement
from musculo.signals.emg import emg_agreement as emg_agreement
from musculo.signals.emg import emg_envelope as emg_envelope
from musculo.signals.filters import lowpass as lowpass
from musculo.signals.gait_events import events_from_force as events_from_force
from musculo.signals.gait_events import events_from_markers as events_from_markers
from musculo.signals.natural_smoothing import NaturalSpline as NaturalSpline
from musculo.signals.natural_smoothing import resample as resample
from musculo.signals.natural_smoothing import smoothing_spline as smoothing_spline
from musculo.signals.natural_smoothing import time_derivative as time_derivative
from musculo.signals.residual import residual_cutoff as residual_cutoff
