"""Node functions of models: `inverse_dynamics` (moments), `formula` (a user's own), ..."""
