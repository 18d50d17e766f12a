"""Virtual time around the scheduler."""
