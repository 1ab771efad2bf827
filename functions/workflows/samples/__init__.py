"""Small tools and a workflow to try things out with."""
