-- Holdfast, JdbcLocks.lockInTransaction: one row a name, locked by the transaction that has written it last.
-- Needed rights: SELECT, INSERT, UPDATE on this table.
CREATE TABLE IF NOT EXISTS holdfast_transaction (
  name bytea NOT NULL PRIMARY KEY,
  token BIGINT NOT NULL
) WITH (fillfactor = 50);
