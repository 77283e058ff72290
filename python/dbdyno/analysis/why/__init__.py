"""What decides how fast a cell is, found by changing it: which changes, how large, and what their effects say."""
