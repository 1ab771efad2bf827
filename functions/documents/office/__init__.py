"""Office packages that others wrote: what they are, and their XML within bounds."""
