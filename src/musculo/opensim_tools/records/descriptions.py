"""Lines between the keys and `endheader` of result files, for people who open them.

The words are ours; how many lines there are, and which are empty, is OpenSim's, since scripts skip a fixed number.
"""

UNITS = (
    "\nUnits are SI: seconds, meters, newtons, newton meters, watts.\n"
    "Angles are in degrees where inDegrees above says yes, else in radians.\n\n"
)
FORCES = "\nForces that act on the model in a motion.\n\nNewtons, or newton meters for torques.\n" + UNITS
ACTUATION = (
    "\nForce, speed or power of every actuator of the model,\n"
    "one column each.\n\n"
    "Forces are newtons, or newton meters where an actuator turns.\n\n"
    "Speeds are meters or radians a second, along what the actuator drives;\n"
    "that of a muscle is the speed of its path, lengthening positive.\n\n"
    "Power is what an actuator gives to the model:\n"
    "positive where it adds energy,\n"
    "negative where it takes energy up.\n" + UNITS
)
STATIC_OPTIMIZATION = "Activations of muscles and controls of actuators of least effort.\n\n"
METABOLIC_POWER = (
    "\nPower that muscles take from what the body eats: heat and work of their fibers (Bhargava 2004).\n\n"
    "Parameters are OpenSim's: half of all fibers are slow; masses of muscles come from their strength.\n\n"
    "Columns are muscles, the body at rest (basal), and all of the body.\n" + UNITS
)
JOINT_REACTION = "\nForces and moments of joints,\non the named bodies and in the named frames.\n\nUnits are SI.\n"
MUSCLES = "\nStates, forces and moment arms of muscles in a motion." + UNITS
POINT = "Of one point; units are SI.\n"


def bodies(model: str, local: bool) -> str:
    """Of body kinematics."""
    where = "the body" if local else "ground"
    return (
        "\nPlaces and orientations of bodies,\n"
        "or their velocities, or their accelerations,\n"
        f"at the mass centers of the bodies of {' '.join(model.split())}.\n\n"
        "Orientations are body-fixed X-Y-Z angles.\n\n"
        f"Angular velocities and accelerations are vectors in the frame of {where}.\n" + UNITS
    )
