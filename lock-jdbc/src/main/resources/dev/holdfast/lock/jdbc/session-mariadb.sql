-- Holdfast locks, strategy "session", MariaDB 10.5 or later. The locks are the server's own user locks (GET_LOCK), and the
-- sequence gives them fencing tokens. The table only tells people who holds what; it has a row for each name that is held
-- for longer than a moment. Times are in UTC. Needed rights: SELECT, INSERT, UPDATE, DELETE on the table, SELECT, INSERT on
-- the sequence.
-- If the table is there already, the sequence must START WITH more than its greatest token.
CREATE SEQUENCE IF NOT EXISTS holdfast_session_token;
CREATE TABLE IF NOT EXISTS holdfast_session (
  name VARBINARY(512) NOT NULL PRIMARY KEY,
  token BIGINT NOT NULL,
  session BIGINT NOT NULL,
  since DATETIME(6) NOT NULL,
  holder VARCHAR(500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;
