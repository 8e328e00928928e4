-- Tags that were altered and are no JSON kept their token from being changed and deleted. All its tags are then removed.
DROP TRIGGER tokens_tagged_anew;
DROP TRIGGER tokens_untagged;
CREATE TRIGGER tokens_tagged_anew AFTER UPDATE OF tags ON tokens WHEN new.tags IS NOT old.tags BEGIN
  DELETE FROM token_tags WHERE account_id = old.account_id AND token_id = old.id
    AND tag IN (SELECT value FROM json_each(iif(json_valid(old.tags), old.tags, '[]')));
  DELETE FROM token_tags WHERE NOT json_valid(old.tags) AND account_id = old.account_id AND token_id = old.id;
  INSERT INTO token_tags SELECT new.account_id, value, new.id FROM json_each(coalesce(new.tags, '[]'));
END;
CREATE TRIGGER tokens_untagged AFTER DELETE ON tokens WHEN old.tags IS NOT NULL BEGIN
  DELETE FROM token_tags WHERE account_id = old.account_id AND token_id = old.id
    AND tag IN (SELECT value FROM json_each(iif(json_valid(old.tags), old.tags, '[]')));
  DELETE FROM token_tags WHERE NOT json_valid(old.tags) AND account_id = old.account_id AND token_id = old.id;
END;
