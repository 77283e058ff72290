"""The laboratory of dbdyno: what to ask of a database, how sure the answer is, why it is so, and how to show it."""
