-- Holdfast locks, strategy "session", PostgreSQL 12 or later. The locks are the database's own advisory locks, and the
-- sequence gives them fencing tokens. The table only tells people who holds what; it has a row for each holder, a reader
-- too, that has held for longer than a moment. Needed rights: SELECT, INSERT, UPDATE, DELETE on the table, USAGE on the
-- sequence.
-- If the table is there already, the sequence must START WITH more than its greatest token.
CREATE SEQUENCE IF NOT EXISTS holdfast_session_token;
CREATE TABLE IF NOT EXISTS holdfast_session (
  name bytea NOT NULL,
  token bigint NOT NULL,
  session bigint NOT NULL,
  since timestamptz NOT NULL,
  holder text NOT NULL,
  PRIMARY KEY (name, token)
) WITH (fillfactor = 50);
