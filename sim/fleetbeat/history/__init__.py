"""What happened in a run: the records and their schema, files of them, and what can be taken out of them."""
