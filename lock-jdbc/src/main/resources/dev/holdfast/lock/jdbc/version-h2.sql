-- Holdfast locks, strategy "version", H2 2.2 or later. One row a name; rows stay, since they count the fencing tokens.
-- Needed rights: SELECT, INSERT, UPDATE on this table.
CREATE TABLE IF NOT EXISTS holdfast_lock (
  name VARBINARY(512) NOT NULL PRIMARY KEY,
  owner VARCHAR(40),
  token BIGINT NOT NULL,
  lease_millis BIGINT NOT NULL,
  expires TIMESTAMP(6) WITH TIME ZONE NOT NULL,
  since TIMESTAMP(6) WITH TIME ZONE NOT NULL,
  holder VARCHAR(500) NOT NULL,
  shares CHARACTER VARYING
);
