"""Headway schedules deep-learning training on shared GPU clusters by the progress that jobs make."""
