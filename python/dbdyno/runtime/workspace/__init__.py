"""The working directory of a run: claims, templates of loaded data, copies, resource limits, Ctrl-C."""
