-- Receivers of events. `position` is the last row of the account's history that is dealt with; secrets are sealed.
CREATE TABLE webhooks (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts (id),
  url text NOT NULL,
  events text,
  ordering text NOT NULL,
  status text COLLATE "C" NOT NULL,
  disabled_because text,
  created_at bigint NOT NULL,
  sealed bytea NOT NULL,
  former_sealed bytea,
  former_until bigint,
  position bigint NOT NULL,
  last_success_at bigint,
  stamp bytea NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX webhooks_by_account ON webhooks (account_id, id);
-- Those that events are sent to, in turn.
CREATE INDEX webhooks_active ON webhooks (id) WHERE status = 'active';

-- As for credentials (003): nothing is stored that is sealed with a key that no longer seals.
CREATE FUNCTION webhooks_sealed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  sealing bytea := sealing_key();
BEGIN
  IF TG_OP = 'INSERT' OR new.sealed IS DISTINCT FROM old.sealed THEN
    IF substring(new.sealed FROM 2 FOR 4) IS DISTINCT FROM sealing THEN
      RAISE EXCEPTION 'sealed with a master key that does not seal' USING ERRCODE = 'LK001';
    END IF;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER webhooks_sealed AFTER INSERT OR UPDATE OF sealed ON webhooks
  FOR EACH ROW EXECUTE FUNCTION webhooks_sealed();

CREATE TABLE webhook_deliveries (
  webhook_id text COLLATE "C" NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
  seq bigint NOT NULL,
  event text NOT NULL,
  at bigint NOT NULL,
  attempts bigint NOT NULL,
  status text COLLATE "C" NOT NULL,
  response_status bigint,
  error text,
  first_at bigint,
  next_at bigint,
  PRIMARY KEY (webhook_id, seq)
) WITH (fillfactor = 85);
CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (webhook_id, next_at, seq) WHERE next_at IS NOT NULL;

-- Which process does what no two may do at the same time, until when.
CREATE TABLE claims (
  name text COLLATE "C" PRIMARY KEY,
  holder text COLLATE "C" NOT NULL,
  held_until bigint NOT NULL
) WITH (fillfactor = 50);

-- Which tokens were announced to expire, and when.
CREATE INDEX history_expiring ON history (token_id, at) WHERE action = 'token.expiring';
-- Whose tokens may end before their own expiry.
CREATE INDEX sub_accounts_with_policy ON sub_accounts (account_id, id) WHERE policy IS NOT NULL;
