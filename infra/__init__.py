"""The CDK app: one construct per capability; the stack composes them and grants."""
