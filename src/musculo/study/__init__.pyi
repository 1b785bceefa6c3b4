"""What `musculo.study` shows and the module that holds it, a line each; `__init__` imports by this list."""

from musculo.study.collection import StudyResults as StudyResults
from musculo.study.collection import collect as collect
from musculo.study.plan import Study as Study
from musculo.study.plan import StudyTrial as StudyTrial
from musculo.study.plan import read_study as read_study
from musculo.study.schedule import run_study as run_study
from musculo.study.study_page import study_page as study_page
from musculo.study.trial_run import TrialOutcome as TrialOutcome
from musculo.study.trial_run import TrialStatus as TrialStatus
