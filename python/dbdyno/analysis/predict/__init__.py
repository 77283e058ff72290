"""Predicting inserts into a growing table beyond measured sizes; ``docs/how-to/predict-growth.md`` says how."""
