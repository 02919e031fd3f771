-- The keys of requests that were carried out, each with what a retry is answered. A row is written in the transaction
-- of its act: there is no act whose retry isn't known, and no row without its act. Rows are dropped after a day.
CREATE TABLE request_key (
  id INTEGER PRIMARY KEY,
  -- Whose key it is: nobody sees, or takes, another one's.
  token_id TEXT NOT NULL REFERENCES token (id),
  key TEXT NOT NULL CHECK (length(key) BETWEEN 16 AND 128),
  -- sha256 of what was asked, and of what the token was allowed then.
  request BLOB NOT NULL CHECK (length(request) = 32),
  at INTEGER NOT NULL,
  status INTEGER NOT NULL CHECK (status BETWEEN 200 AND 599),
  -- JSON. Never a secret.
  answer BLOB NOT NULL,
  UNIQUE (token_id, key)
) STRICT;

CREATE INDEX request_key_by_age ON request_key (at);
