-- The last transaction of an account by which verification has come to decide otherwise, with the server that made it: what verifiers
-- must confirm.
ALTER TABLE history_heads ADD COLUMN decided text;

-- A row may stand for leases of which only the operator knows, of all accounts.
ALTER TABLE verifiers DROP CONSTRAINT verifiers_account_id_fkey;
