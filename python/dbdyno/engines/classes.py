"""The names of the classes of durability that can be asked for, as results have them."""

POWER_SAFE = "power-safe"
PROCESS_SAFE = "process-safe"
