"""MoBL-ARMS, the model of the arm that the studies of the shoulder are made with; it is not part of musculo."""

from __future__ import annotations

from pathlib import Path

from musculo.dynamics.poses import kinematics
from musculo.embedding.embedding import embedding_of
from musculo.io.osim import read_osim
from musculo.model.body import Placement
from musculo.model.joints import WeldJoint
from musculo.model.model import Model
from musculo.model.model_constraint import CoordinateCoupler
from musculo.replications.shoulder.shoulder_rhythm import ELEVATION, PLANE, ROTATION
from musculo.replications.study import Settings
from musculo.spatial.rotation import to_xyz

SOURCE = "Ehsani2023: Empirically-based multibody dynamics for modeling the human body musculoskeletal system, "
FILE = Path("mobl_arms") / "MoBL_ARMS.osim"
NO_MODEL = (
    "MoBL-ARMS is not part of musculo (its license allows non-commercial use); --data or $MUSCULO_DATA names a folder "
    f"with {FILE.as_posix()}"
)
COORDINATES = (PLANE, ELEVATION, ROTATION)
# Joints that do not move in the paper's model: it ends at the humerus, and the thorax is fixed.
BEYOND = ("elbow_flexion", "pro_sup")  # those of their coordinates that the file leaves free
RIGID = ("groundthorax", "elbow", "radioulnar", "radiocarpal", "wrist_hand")
# Units of the paper's tracking problem, as figure 21 abbreviates them, and what MoBL-ARMS calls them.
UNITS = {
    "DEL1": "DELT1", "DEL2": "DELT2", "DEL3": "DELT3", "SUPRA": "SUPSP", "INFRA": "INFSP", "SUBS": "SUBSC",
    "TMIN": "TMIN", "TMAJ": "TMAJ", "PEC1": "PECM1", "PEC2": "PECM2", "PEC3": "PECM3", "LAT1": "LAT1", "LAT2": "LAT2",
    "LAT3": "LAT3",
}  # fmt: skip
# Bodies without a bone: rotations are split over them. The file gives each an inertia of 1 kg m^2, as SIMM needs.
PHANTOMS = ("clavphant", "scapphant", "humphant", "humphant1")
PHANTOM_INERTIA = 1e-5  # that they keep where the shoulder moves [kg m^2]


def model_file(settings: Settings) -> Path | None:
    """Where the model is; None where no folder was named, or it is not there."""
    if settings.data is None:
        return None
    known = (settings.data / FILE, settings.data / FILE.name)
    return next((file.resolve() for file in known if file.is_file()), None)


def arm_of(file: Path, muscles: tuple[str, ...]) -> Model:
    """The model with the named muscles alone, and no other force."""
    model = read_osim(file)
    return model.replace(forces=tuple(model.muscle(name) for name in muscles))


def shoulder_alone(model: Model) -> Model:
    """Thorax, clavicle, scapula and arm: three coordinates of the shoulder, and those that follow them.

    The joints beyond the shoulder are welded as they are at rest, the elbow stretched.

    Departs:    the file's phantom bodies have 1 kg m^2 each. Two of them turn with the humerus, and would add that to
                the 0.5 kg m^2 of a stretched arm. They keep a little, so that the mass matrix of the tree, which a
                formulation with multipliers factors, is regular; embedded, they need none.
    """
    return with_welds(_light(model), RIGID)


def shoulder_with_locks(model: Model) -> Model:
    """The same with locked coordinates where `shoulder_alone` has welds."""
    for name in BEYOND:
        model = model.with_coordinate(name, locked=True)
    return _light(model)


def _light(model: Model) -> Model:
    for name in PHANTOMS:
        model = model.with_body(name, inertia=(*(PHANTOM_INERTIA,) * 3, 0.0, 0.0, 0.0))
    return model


def with_welds(model: Model, joints: tuple[str, ...]) -> Model:
    """A copy whose named joints do not move from the pose at rest; couplers of their coordinates go with them."""
    rest = kinematics(model, embedding_of(model).default_pose()[None])
    gone: set[str] = set()
    for name in joints:
        joint = model.joint(name)
        (R_WP, p_WP), (R_WC, p_WC) = (rest.batch_pose(side.body) for side in (joint.parent, joint.child))
        R_PC, p_PC = R_WP[0].T @ R_WC[0], R_WP[0].T @ (p_WC[0] - p_WP[0])
        place = Placement(joint.parent.body, tuple(p_PC.tolist()), tuple(to_xyz(R_PC).tolist()))
        model = model.with_joint(WeldJoint(name, place, Placement(joint.child.body)))
        gone |= {one.name for one in joint.coordinates}
    kept = tuple(c for c in model.constraints if not (isinstance(c, CoordinateCoupler) and c.dependent in gone))
    return model.replace(constraints=kept)
