"""Forces of shapes that touch: `contact_pressure` at one state, `smooth_contact_slopes` at nodes with slopes."""
