-- One token in 256, at random: how much of an account a search matches is estimated by their names.
CREATE INDEX token_search_sampled ON token_search (account_id, folded_name) WHERE substr(token_id, 31) = '00';
