-- Where a person signed in from: the address, and what the browser says of itself. Null for sessions that began before.
ALTER TABLE sessions ADD COLUMN address text, ADD COLUMN user_agent text;
