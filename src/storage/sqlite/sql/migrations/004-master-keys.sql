-- One master key seals; the others in the vault are being retired, and only open.
ALTER TABLE vault ADD COLUMN seals INTEGER NOT NULL DEFAULT 1 CHECK (seals IN (0, 1));
CREATE UNIQUE INDEX vault_one_seals ON vault (seals) WHERE seals = 1;

-- By their ids alone, so that none of them is ever put to use again.
CREATE TABLE retired_master_keys (
  key_id TEXT PRIMARY KEY,
  retired_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
