"""Onward carries multi-step AI tasks to their end on AWS managed services."""
