"""Runs of experiments: plan, carry out and store their trials."""
