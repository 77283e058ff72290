"""A history for people: lines of the terminal, a chart, and a page."""
