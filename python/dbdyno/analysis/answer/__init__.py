"""What a run answers: which configuration to take at what price, and how sure that is."""
