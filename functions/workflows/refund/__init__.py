"""The workflow `refund`: reads, a decision, and one write for each way to be safe from repeats."""
