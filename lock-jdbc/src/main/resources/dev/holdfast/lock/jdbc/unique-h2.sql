-- Holdfast locks, strategy "unique index", H2 2.2 or later. One row a name in use; idle rows are deleted.
-- Needed rights: SELECT, INSERT, UPDATE, DELETE on the table.
-- If the table is there already, the sequence must START WITH more than its greatest token.
CREATE SEQUENCE IF NOT EXISTS holdfast_held_token;
CREATE TABLE IF NOT EXISTS holdfast_held (
  name VARBINARY(512) NOT NULL PRIMARY KEY,
  owner VARCHAR(32),
  token BIGINT NOT NULL,
  lease_millis BIGINT NOT NULL,
  expires TIMESTAMP(6) WITH TIME ZONE NOT NULL,
  since TIMESTAMP(6) WITH TIME ZONE NOT NULL,
  holder VARCHAR(500) NOT NULL
);
CREATE INDEX IF NOT EXISTS holdfast_held_due ON holdfast_held (expires);
