"""Reads any workbook and reports what its tables hold.

inspect → plan → analyse (once per table) → compose → publish
"""
