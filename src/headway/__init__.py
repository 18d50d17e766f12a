"""Headway: a scheduler for deep-learning training by the progress that jobs make."""
