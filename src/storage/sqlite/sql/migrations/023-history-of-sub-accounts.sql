-- What was done to a sub-account is part of the history of each of its tokens.
CREATE INDEX history_of_sub_accounts ON history (account_id, subject, seq) WHERE action = 'sub-account.update';
