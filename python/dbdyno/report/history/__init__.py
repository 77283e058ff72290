"""Views of a history: lines for the terminal, a chart and an HTML page."""
