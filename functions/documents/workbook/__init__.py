"""Reads any workbook: its tables, their figures, and what was left out."""
