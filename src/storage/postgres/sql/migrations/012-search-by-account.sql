-- A change of status finds the token's row of the search by its account, too: in a partitioned store, in one partition.
CREATE OR REPLACE FUNCTION tokens_counted_over() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO token_counts AS c (scope, status, count)
  VALUES (new.account_id, old.status, -1), (new.account_id, new.status, 1),
    (new.sub_account_id, old.status, -1), (new.sub_account_id, new.status, 1)
  ON CONFLICT (scope, status) DO UPDATE SET count = c.count + excluded.count;
  UPDATE token_search SET status = new.status WHERE account_id = new.account_id AND token_id = new.id;
  RETURN NULL;
END $$;
