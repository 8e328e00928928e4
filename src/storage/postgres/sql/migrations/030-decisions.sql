-- The last transaction of an account by which verification may have come to decide otherwise, and the server that made it: what
-- verifiers must confirm. For decisions of before, one that every position of the present server has seen.
ALTER TABLE history_heads ADD COLUMN decided text;
UPDATE history_heads SET decided = '';

-- A row may stand for leases of which only the operator knows, of all accounts.
ALTER TABLE verifiers DROP CONSTRAINT verifiers_account_id_fkey;
