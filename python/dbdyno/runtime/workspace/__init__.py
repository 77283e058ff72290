"""Where a run works: its directories, loaded data and copies of it, and how it hears that it is to end."""
