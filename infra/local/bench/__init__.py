"""What a step costs, measured beside a bare Step Functions chain on the same stack."""
