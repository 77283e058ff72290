"""The highest arrival rate at which an objective holds: decisions, the search, and its conclusion."""
