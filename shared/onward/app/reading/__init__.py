"""What is shown of runs: snapshots, lists, logs, results. Nothing here writes."""
