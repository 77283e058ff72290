"""A result as rows and columns: what data frames, CSV and Parquet are made of."""
