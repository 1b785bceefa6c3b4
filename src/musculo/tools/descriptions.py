"""Lines between the keys and `endheader` of result files, for people who open them."""

UNITS = "\nUnits are SI (seconds, metres, newtons); inDegrees above says whether angles are in degrees or radians.\n\n"
FORCES = "\nForces that act on the model: newtons, or newton metres for torques.\n" + UNITS
ACTUATION = (
    "\nForce, speed or power of every actuator of the model. A muscle's speed is that of its path, lengthening\n"
    "positive; power is what an actuator gives to the model.\n" + UNITS
)
STATIC_OPTIMIZATION = "Activations of muscles and controls of actuators of least effort.\n\n"
JOINT_REACTION = "\nWhat joints transmit to the named bodies, expressed in the named frames.\n\nUnits are SI.\n"
MUSCLES = "\nStates, forces and moment arms of muscles in a motion." + UNITS


def bodies(model: str, local: bool) -> str:
    """Of body kinematics."""
    where = "the body" if local else "ground"
    return (
        f"\nPositions and orientations, or their rates, of the mass centres of the bodies of {model}.\n"
        "Orientations are body-fixed X-Y-Z angles; angular velocities and accelerations are vectors in "
        f"{where}.\n" + UNITS
    )
