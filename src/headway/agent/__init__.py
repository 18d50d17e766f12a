"""What runs inside a training job; the only place that imports torch."""
