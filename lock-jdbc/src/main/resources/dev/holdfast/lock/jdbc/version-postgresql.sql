-- Holdfast locks, strategy "version", PostgreSQL 12 or later. One row a name; rows stay, since they count the fencing tokens.
-- Needed rights: SELECT, INSERT, UPDATE on this table.
CREATE TABLE IF NOT EXISTS holdfast_lock (
  name bytea NOT NULL PRIMARY KEY,
  owner text,
  token bigint NOT NULL,
  lease_millis bigint NOT NULL,
  expires timestamptz NOT NULL,
  since timestamptz NOT NULL,
  holder text NOT NULL,
  awaited timestamptz,
  shares text
) WITH (fillfactor = 50);
