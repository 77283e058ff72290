"""Systems: what is measured, named by a URL."""
