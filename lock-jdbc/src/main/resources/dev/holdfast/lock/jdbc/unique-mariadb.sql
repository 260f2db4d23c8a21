-- Holdfast locks, strategy "unique index", MariaDB 10.5 or later. One row a name in use; idle rows are deleted. Times are
-- in UTC. Needed rights: SELECT, INSERT, UPDATE, DELETE on the table, SELECT, INSERT on the sequence.
-- If the table is there already, the sequence must START WITH more than its greatest token.
CREATE SEQUENCE IF NOT EXISTS holdfast_held_token;
CREATE TABLE IF NOT EXISTS holdfast_held (
  name VARBINARY(512) NOT NULL PRIMARY KEY,
  owner VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NULL,
  token BIGINT NOT NULL,
  lease_millis BIGINT NOT NULL,
  expires DATETIME(6) NOT NULL,
  since DATETIME(6) NOT NULL,
  holder VARCHAR(500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  KEY due (expires)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;
