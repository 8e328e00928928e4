-- The writer merges the search index itself, a few pages with each commit: SQLite does it several hundred at a time.
INSERT INTO token_grams (token_grams, rank) VALUES ('automerge', 0);
