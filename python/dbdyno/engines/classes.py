"""The names of the durability classes that a user can request, as used in results."""

POWER_SAFE = "power-safe"
PROCESS_SAFE = "process-safe"
