"""Identifiers: strings at run time, distinct types to the checker."""

from typing import NewType

JobId = NewType("JobId", str)
NodeId = NewType("NodeId", str)
