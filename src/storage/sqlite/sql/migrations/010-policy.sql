-- All of these are JSON; null for none.
ALTER TABLE sub_accounts ADD COLUMN policy TEXT;
ALTER TABLE sub_accounts ADD COLUMN metadata TEXT;
ALTER TABLE tokens ADD COLUMN tags TEXT;
ALTER TABLE tokens ADD COLUMN policy TEXT;

-- The tags of tokens, for lists by tag. Made by the triggers from what is stored with the token.
CREATE TABLE token_tags (
  account_id TEXT NOT NULL,
  tag TEXT NOT NULL,
  token_id TEXT NOT NULL,
  PRIMARY KEY (account_id, tag, token_id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER tokens_tagged AFTER INSERT ON tokens WHEN new.tags IS NOT NULL BEGIN
  INSERT INTO token_tags SELECT new.account_id, value, new.id FROM json_each(new.tags);
END;
CREATE TRIGGER tokens_tagged_anew AFTER UPDATE OF tags ON tokens WHEN new.tags IS NOT old.tags BEGIN
  DELETE FROM token_tags WHERE account_id = old.account_id AND token_id = old.id
    AND tag IN (SELECT value FROM json_each(coalesce(old.tags, '[]')));
  INSERT INTO token_tags SELECT new.account_id, value, new.id FROM json_each(coalesce(new.tags, '[]'));
END;
CREATE TRIGGER tokens_untagged AFTER DELETE ON tokens WHEN old.tags IS NOT NULL BEGIN
  DELETE FROM token_tags WHERE account_id = old.account_id AND token_id = old.id
    AND tag IN (SELECT value FROM json_each(old.tags));
END;

-- What is left of the rates and quotas in policies: a JSON text for each token or sub-account and kind of limit.
CREATE TABLE limits (
  subject TEXT NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  PRIMARY KEY (subject, kind)
) STRICT, WITHOUT ROWID;
