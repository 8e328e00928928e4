-- Sessions are listed for all accounts that their people can enter, not by the account that is chosen.
DROP INDEX sessions_by_account;
