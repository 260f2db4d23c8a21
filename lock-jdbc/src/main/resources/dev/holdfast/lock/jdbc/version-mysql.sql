-- Holdfast locks, strategy "version", MySQL 8.0 or later and MariaDB 10.5 or later. One row a name; rows stay, since they
-- count the fencing tokens. Times are in UTC. Needed rights: SELECT, INSERT, UPDATE on this table.
CREATE TABLE IF NOT EXISTS holdfast_lock (
  name VARBINARY(512) NOT NULL PRIMARY KEY,
  owner VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NULL,
  token BIGINT NOT NULL,
  lease_millis BIGINT NOT NULL,
  expires DATETIME(6) NOT NULL,
  since DATETIME(6) NOT NULL,
  holder VARCHAR(500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  shares MEDIUMTEXT CHARACTER SET ascii COLLATE ascii_bin NULL
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;
