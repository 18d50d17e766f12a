"""The scheduler as pure functions: no clock, no chance, no I/O."""
