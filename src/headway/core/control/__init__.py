"""The scheduler as a state machine."""
