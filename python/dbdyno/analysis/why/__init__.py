"""Finding the bottleneck of a cell by changing it: choice and size of changes, evaluation of their effects."""
