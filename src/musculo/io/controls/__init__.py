"""Files of controls and controllers."""
