-- All of these are JSON, as text: stamps and history cover them as they were written. Null for none.
ALTER TABLE sub_accounts ADD COLUMN policy text, ADD COLUMN metadata text;
ALTER TABLE tokens ADD COLUMN tags text, ADD COLUMN policy text;

-- The tags of tokens, for lists by tag. Made by the triggers from what is stored with the token.
CREATE TABLE token_tags (
  account_id text COLLATE "C" NOT NULL,
  tag text COLLATE "C" NOT NULL,
  token_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (account_id, tag, token_id)
);

CREATE FUNCTION tokens_tagged() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    DELETE FROM token_tags WHERE account_id = old.account_id AND token_id = old.id
      AND tag IN (SELECT jsonb_array_elements_text(coalesce(old.tags, '[]')::jsonb));
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO token_tags SELECT new.account_id, tag, new.id
      FROM jsonb_array_elements_text(coalesce(new.tags, '[]')::jsonb) AS tag;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER tokens_tagged AFTER INSERT ON tokens
  FOR EACH ROW WHEN (new.tags IS NOT NULL) EXECUTE FUNCTION tokens_tagged();
CREATE TRIGGER tokens_tagged_anew AFTER UPDATE OF tags ON tokens
  FOR EACH ROW WHEN (new.tags IS DISTINCT FROM old.tags) EXECUTE FUNCTION tokens_tagged();
CREATE TRIGGER tokens_untagged AFTER DELETE ON tokens
  FOR EACH ROW WHEN (old.tags IS NOT NULL) EXECUTE FUNCTION tokens_tagged();

-- What is left of the rates and quotas in policies: a JSON text for each token or sub-account and kind of limit.
CREATE TABLE limits (
  subject text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  state text NOT NULL,
  PRIMARY KEY (subject, kind)
) WITH (fillfactor = 50);
