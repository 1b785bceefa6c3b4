"""What a run leaves: results, which files it read and wrote, and a record by which it need not run again."""
