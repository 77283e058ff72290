"""What engines share whose database is a file, opened by the worker itself."""
