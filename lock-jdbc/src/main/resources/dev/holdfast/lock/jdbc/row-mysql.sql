-- Holdfast locks, strategy "row lock", MySQL 8.0 or later and MariaDB 10.6 or later. Two rows a name, which stay: part 0 is
-- locked by whoever holds the lock and never written, part 1 counts the fencing tokens. Times are in UTC. Needed rights:
-- SELECT, INSERT, UPDATE on this table.
CREATE TABLE IF NOT EXISTS holdfast_row (
  name VARBINARY(512) NOT NULL,
  part SMALLINT NOT NULL,
  token BIGINT NOT NULL,
  session BIGINT NOT NULL,
  since DATETIME(6) NOT NULL,
  holder VARCHAR(500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (name, part)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;
