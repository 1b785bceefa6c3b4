"""The equations of a closed loop: of bodies, of coordinates, and their derivatives."""
