-- Holdfast locks, strategy "row lock", PostgreSQL 12 or later. Two rows a name, which stay: part 0 is locked by whoever
-- holds the lock and never written, part 1 counts the fencing tokens. Needed rights: SELECT, INSERT, UPDATE on this table.
CREATE TABLE IF NOT EXISTS holdfast_row (
  name bytea NOT NULL,
  part smallint NOT NULL,
  token bigint NOT NULL,
  session bigint NOT NULL,
  since timestamptz NOT NULL,
  holder text NOT NULL,
  PRIMARY KEY (name, part)
) WITH (fillfactor = 50);
