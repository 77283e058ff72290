"""Counting what a library's code costs under callgrind: by build, by part, by function, by line."""
