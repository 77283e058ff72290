"""The durability classes that a user can request, as named in results."""

POWER_SAFE = "power-safe"
PROCESS_SAFE = "process-safe"
