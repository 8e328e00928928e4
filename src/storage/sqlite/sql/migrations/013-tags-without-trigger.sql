-- Having the trigger made every INSERT a third slower, also of tokens without tags: insertTags in insertion.ts does it instead.
DROP TRIGGER tokens_tagged;
