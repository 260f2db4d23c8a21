-- Holdfast locks, strategy "unique index", PostgreSQL 12 or later. One row a name in use; idle rows are deleted.
-- Needed rights: SELECT, INSERT, UPDATE, DELETE on the table, USAGE on the sequence.
-- If the table is there already, the sequence must START WITH more than its greatest token.
CREATE SEQUENCE IF NOT EXISTS holdfast_held_token;
CREATE TABLE IF NOT EXISTS holdfast_held (
  name bytea NOT NULL PRIMARY KEY,
  owner text,
  token bigint NOT NULL,
  lease_millis bigint NOT NULL,
  expires timestamptz NOT NULL,
  since timestamptz NOT NULL,
  holder text NOT NULL,
  awaited timestamptz
) WITH (fillfactor = 50);
CREATE INDEX IF NOT EXISTS holdfast_held_due ON holdfast_held (expires);
