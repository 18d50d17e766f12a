"""Small real training scripts that the demo submits."""
