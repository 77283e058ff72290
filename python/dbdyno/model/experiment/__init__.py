"""What an experiment says about one cell, as data: tables, transactions, the load. It knows no engine.

What engines have to say of a text is asked of ``Engines``, which those give who read.
"""
