-- Counts the batches of last-used marks, in its one row: their commits change nothing that decides, and write no history.
CREATE TABLE use_flushes (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  n INTEGER NOT NULL
) STRICT;
INSERT INTO use_flushes (id, n) VALUES (1, 0);
