"""The engines behind the sample workflows: they read files and write pages, and know no step."""
