-- What release engineers do beside publishing: roll back, promote, freeze and remove channels, limit tokens; and the
-- trail of every act that changed anything.

-- Where the content of a rollback or a promotion came from.
CREATE TABLE release_source (
  channel_id INTEGER NOT NULL,
  version INTEGER NOT NULL,
  -- For a rollback the channel itself.
  source_channel_id INTEGER NOT NULL REFERENCES channel,
  source_version INTEGER NOT NULL CHECK (source_version >= 1),
  -- The one bundle that it was about; NULL: all of the channel.
  bundle_id INTEGER REFERENCES bundle,
  PRIMARY KEY (channel_id, version),
  CHECK (source_channel_id <> channel_id OR source_version < version),
  FOREIGN KEY (channel_id, version) REFERENCES release (channel_id, version) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Channels that refuse releases, and who said so.
CREATE TABLE freeze (
  channel_id INTEGER PRIMARY KEY REFERENCES channel,
  at INTEGER NOT NULL,
  author TEXT NOT NULL,
  reason TEXT NOT NULL CHECK (length(reason) > 0)
) STRICT;

-- Releases that were made in spite of a freeze.
CREATE TABLE broken_glass (
  channel_id INTEGER NOT NULL,
  version INTEGER NOT NULL,
  reason TEXT NOT NULL CHECK (length(reason) > 0),
  frozen_by TEXT NOT NULL,
  PRIMARY KEY (channel_id, version),
  FOREIGN KEY (channel_id, version) REFERENCES release (channel_id, version) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- A removed channel answers nobody. Its row stays, so that its numbers go on rising should it be made again.
ALTER TABLE channel ADD COLUMN removed_at INTEGER;

-- Names of bundles that a token is limited to, with * and ? as wildcards; NULL: all.
ALTER TABLE token ADD COLUMN bundles TEXT CHECK (length(bundles) BETWEEN 1 AND 128);
ALTER TABLE token ADD COLUMN expires_at INTEGER;

-- Every act that changed anything, each row chained to the one before.
CREATE TABLE audit (
  -- 1, 2, 3, … without a gap.
  id INTEGER PRIMARY KEY CHECK (id >= 1),
  at INTEGER NOT NULL,
  -- The name of the token, and where the request came from.
  author TEXT NOT NULL,
  address TEXT NOT NULL,
  act TEXT NOT NULL CHECK (length(act) > 0),
  app TEXT,
  channel TEXT,
  -- Canonical JSON.
  parameters TEXT NOT NULL,
  result TEXT NOT NULL,
  -- sha256 of the hash before (32 zero bytes for the first row) and this row as canonical JSON.
  hash BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;

CREATE TRIGGER audit_rows_follow BEFORE INSERT ON audit
WHEN NEW.id <> (SELECT coalesce(max(id), 0) + 1 FROM audit)
BEGIN SELECT RAISE(ABORT, 'audit rows follow each other'); END;

CREATE TRIGGER audit_is_immutable BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'what was done stays done'); END;

CREATE TRIGGER audit_stays BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'what was done stays done'); END;
