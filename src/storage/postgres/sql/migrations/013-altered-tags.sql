-- Tags that were altered and are no JSON array kept their token from being changed and deleted. All its tags are then removed.
CREATE OR REPLACE FUNCTION tokens_tagged() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    BEGIN
      DELETE FROM token_tags WHERE account_id = old.account_id AND token_id = old.id
        AND tag IN (SELECT jsonb_array_elements_text(coalesce(old.tags, '[]')::jsonb));
    EXCEPTION WHEN data_exception THEN
      DELETE FROM token_tags WHERE account_id = old.account_id AND token_id = old.id;
    END;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO token_tags SELECT new.account_id, tag, new.id
      FROM jsonb_array_elements_text(coalesce(new.tags, '[]')::jsonb) AS tag;
  END IF;
  RETURN NULL;
END $$;
