-- Holdfast locks, strategy "row lock", H2 2.3 or later. Two rows a name, which stay: part 0 is locked by whoever holds the
-- lock and never written, part 1 counts the fencing tokens. Needed rights: SELECT, INSERT, UPDATE on this table.
CREATE TABLE IF NOT EXISTS holdfast_row (
  name VARBINARY(512) NOT NULL,
  part SMALLINT NOT NULL,
  token BIGINT NOT NULL,
  session BIGINT NOT NULL,
  since TIMESTAMP(6) WITH TIME ZONE NOT NULL,
  holder VARCHAR(500) NOT NULL,
  PRIMARY KEY (name, part)
);
