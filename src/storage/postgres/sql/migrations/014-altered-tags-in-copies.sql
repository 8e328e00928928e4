-- Tags that were altered and are no JSON array also kept their token from being copied. It is copied without an index of its tags.
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
  -- Most have none: each block with an exception is a subtransaction.
  IF TG_OP <> 'DELETE' AND new.tags IS NOT NULL THEN
    BEGIN
      INSERT INTO token_tags SELECT new.account_id, tag, new.id FROM jsonb_array_elements_text(new.tags::jsonb) AS tag;
    EXCEPTION WHEN data_exception THEN
      NULL;
    END;
  END IF;
  RETURN NULL;
END $$;
