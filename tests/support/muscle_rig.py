"""One muscle of every kind: as a model built in Python, and as a file that OpenSim reads too.

In the file each muscle spans a slider along x, so that the coordinate is the path length and its speed the path's.
"""

from __future__ import annotations

from musculo import Model
from musculo.model.force import Muscle

KINDS = (
    "Millard2012EquilibriumMuscle",
    "Thelen2003Muscle",
    "DeGrooteFregly2016Muscle",
    "Schutte1993Muscle_Deprecated",
    "Delp1990Muscle_Deprecated",
    "RigidTendonMuscle",
    "Thelen2003Muscle_Deprecated",
)
ELASTIC = tuple(kind for kind in KINDS if kind != "RigidTendonMuscle")
MAX_FORCE, OPTIMAL, SLACK = 1000.0, 0.1, 0.2


def muscle(kind: str, name: str = "m", **changes) -> Muscle:
    values = {"max_isometric_force": MAX_FORCE, "optimal_fiber_length": OPTIMAL, "tendon_slack_length": SLACK}
    return Muscle(name, kind, **{**values, **changes})


def model_of(*muscles: Muscle) -> Model:
    return Model("rig", (), (), forces=muscles)


def one_of_each(kinds=KINDS, pennation: float = 0.3) -> Model:
    """A muscle of each kind, named by it; Millard's also without damping."""
    muscles = [muscle(kind, kind, pennation_angle_at_optimal=pennation) for kind in kinds]
    undamped = (("fiber_damping", 0.0),)
    muscles.append(muscle(KINDS[0], "undamped", pennation_angle_at_optimal=pennation, parameters=undamped))
    return model_of(*muscles)


_FILE = """<?xml version="1.0" encoding="UTF-8" ?>
<OpenSimDocument Version="40600"><Model name="rig"><Ground name="ground"/>
<BodySet name="bodyset"><objects><Body name="block"><mass>1</mass><mass_center>0 0 0</mass_center>
<inertia>1 1 1 0 0 0</inertia></Body></objects></BodySet>
<JointSet name="jointset"><objects><SliderJoint name="slider"><socket_parent_frame>/ground</socket_parent_frame>
<socket_child_frame>/bodyset/block</socket_child_frame><coordinates><Coordinate name="x"><default_value>0.3
</default_value><range>-10 10</range></Coordinate></coordinates></SliderJoint></objects></JointSet>
<ForceSet name="forceset"><objects><{kind} name="m"><GeometryPath name="path"><PathPointSet><objects>
<PathPoint name="a"><socket_parent_frame>/ground</socket_parent_frame><location>0 0 0</location></PathPoint>
<PathPoint name="b"><socket_parent_frame>/bodyset/block</socket_parent_frame><location>0 0 0</location></PathPoint>
</objects></PathPointSet></GeometryPath><max_isometric_force>1000</max_isometric_force>
<optimal_fiber_length>0.1</optimal_fiber_length><tendon_slack_length>0.2</tendon_slack_length>
<pennation_angle_at_optimal>{pennation}</pennation_angle_at_optimal>{more}</{kind}></objects></ForceSet>
</Model></OpenSimDocument>
"""


def file_text(kind: str, pennation: float, more: str = "") -> str:
    """The .osim of one muscle on a slider; `more` are further elements of the muscle."""
    return _FILE.format(kind=kind, pennation=pennation, more=more)
