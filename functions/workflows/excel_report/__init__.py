"""Reads any workbook and reports what its tables hold.

inspect → plan → analyse-N → code-N → compose → publish

The planner adds `analyse-N` and `code-N` for the Nth table. The first reads the workbook and gives
the exact figures. The second runs code of the plan in the sandbox, on a sample of the table: what
it returns is shown beside the figures, and when it fails the report says so and stands.
"""
