"""Predicting inserts into a growing table beyond the sizes that were measured; ``docs/prediction.md`` says how."""
