"""A result as rows and columns, from which data frames, CSV and Parquet are made."""
