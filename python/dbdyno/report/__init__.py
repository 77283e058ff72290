"""Views of the result document for people: the table of the terminal and the HTML page."""
