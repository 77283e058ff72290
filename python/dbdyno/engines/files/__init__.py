"""Code shared by engines whose database is a file that the worker opens."""
