"""What a run means: figures of its trials, bottlenecks, findings, the answer, and comparisons of runs.

It reads stored runs and decides. Nothing here measures, and nothing here lays out a page or a terminal.
"""
