"""Other systems' layouts, read and written: seed 004's mailbox folders, and its Python API."""
