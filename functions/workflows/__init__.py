"""What users edit: one folder per workflow, with its tools in tools.py and its steps in plan.py."""
