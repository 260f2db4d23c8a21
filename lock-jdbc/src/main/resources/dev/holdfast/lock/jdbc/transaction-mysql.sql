-- Holdfast, JdbcLocks.lockInTransaction: one row a name, locked by the transaction that has written it last.
-- Needed rights: SELECT, INSERT, UPDATE on this table.
CREATE TABLE IF NOT EXISTS holdfast_transaction (
  name VARBINARY(512) NOT NULL PRIMARY KEY,
  token BIGINT NOT NULL
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;
