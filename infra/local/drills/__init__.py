"""Rehearsed faults: each drill breaks one thing on purpose and counts what it did outside.

A drill is a function from a `Stage` to findings, one a case; `runner` knows them all.
"""
