"""The service on this machine: an emulator process, the same template, no cloud account."""
