"""Rehearsed faults; their tools are offered only where the stack allows drills."""
