-- What the serving role may do, and no more. As the owner of the tables, after every `latchkey migrate`:
--   psql --set=ON_ERROR_STOP=1 --file=grants.sql postgres://latchkey_owner@…/latchkey
GRANT USAGE ON SCHEMA public TO latchkey_service;
GRANT SELECT ON latchkey_migrations, vault, retired_master_keys TO latchkey_service;
GRANT SELECT, INSERT ON history TO latchkey_service;
GRANT SELECT, UPDATE ON confirmed_timeline TO latchkey_service;
GRANT SELECT, UPDATE (refused_because, forgotten_until) ON homes TO latchkey_service;
GRANT SELECT, INSERT, UPDATE, DELETE ON instance_marks TO latchkey_service;
GRANT SELECT, INSERT, UPDATE ON accounts, account_keys, sub_accounts, token_search, last_used, token_counts, history_heads
  TO latchkey_service;
GRANT SELECT, INSERT, UPDATE, DELETE ON tokens, retired_credentials, idempotency_keys, rate_limits, limits, token_tags,
  sessions, spent_sign_ins, portal_sessions, verifiers, webhooks, webhook_deliveries, claims, usage_hours, usage_days, usage_busiest, usage_reports,
  recent_verifications, bulk_operations, bulk_parts
  TO latchkey_service;
-- In a store with partitions by account.
DO $$
BEGIN
  IF to_regclass('public.credential_places') IS NOT NULL THEN
    GRANT SELECT, INSERT, UPDATE, DELETE ON credential_places TO latchkey_service;
    GRANT DELETE ON token_search, last_used TO latchkey_service;
  END IF;
END $$;
