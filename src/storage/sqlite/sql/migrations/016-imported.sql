-- The tokens whose credentials may be imported ones, of which a search for leaks has to know the shapes.
CREATE INDEX tokens_imported ON tokens (id) WHERE masked IS NULL OR substr(masked, 1, 3) <> 'lk_';
