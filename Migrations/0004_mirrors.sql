-- The static copies of this origin, and who reads from its data folder just now.
--
-- These two tables are also written by `mirror` and `backup` runs beside the server, each row in a short transaction
-- of its own: nothing that a release is planned with depends on them.

-- A copy, by where it is; what it names must stay until it no longer does.
CREATE TABLE mirror (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 1024),
  -- When its last run ended.
  at INTEGER NOT NULL
) STRICT;

CREATE TABLE mirror_version (
  mirror_id INTEGER NOT NULL REFERENCES mirror ON DELETE CASCADE,
  channel_id INTEGER NOT NULL REFERENCES channel,
  version INTEGER NOT NULL CHECK (version >= 1),
  PRIMARY KEY (mirror_id, channel_id, version)
) STRICT, WITHOUT ROWID;

-- While a lease lasts, no blob and no version is removed.
CREATE TABLE lease (
  id TEXT PRIMARY KEY CHECK (length(id) = 32),
  holder TEXT NOT NULL,
  taken_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL CHECK (expires_at >= taken_at)
) STRICT, WITHOUT ROWID;
