"""What every other package uses: errors, numbers and text, paths, the files inside the package.

It imports nothing else of dbdyno. What knows of databases, experiments or runs does not belong here.
"""
