-- Run once by the image of PostgreSQL, when it makes its database: the role that migrates, and the one that serves.
\getenv owner_password OWNER_PASSWORD
\getenv service_password SERVICE_PASSWORD
CREATE ROLE latchkey_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE latchkey_service LOGIN PASSWORD :'service_password';
CREATE DATABASE latchkey OWNER latchkey_owner ENCODING UTF8 TEMPLATE template0;
REVOKE ALL ON DATABASE latchkey FROM PUBLIC;
GRANT CONNECT ON DATABASE latchkey TO latchkey_service;
