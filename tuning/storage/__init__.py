"""A search with its experiment in a storage that a URI names: one run at a time, uploads in order, a trial's own files."""
