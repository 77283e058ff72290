"""Predicting inserts into a growing table beyond measured sizes; ``docs/explanation/prediction.md`` says how."""
