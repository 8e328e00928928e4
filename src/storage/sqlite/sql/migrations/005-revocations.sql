-- How far the revocation journal has come with this store: its length in bytes, and its last line. No row: not begun.
CREATE TABLE revocation_journal (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  size INTEGER NOT NULL,
  last_line TEXT NOT NULL,
  -- 1 in a backup: the journal then goes on after what the store knows, and all of it counts.
  from_backup INTEGER NOT NULL DEFAULT 0
) STRICT;
