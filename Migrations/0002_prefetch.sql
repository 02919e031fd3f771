-- What a channel says to devices beside its manifest: the prefetch config, the runtime policy, the poll interval.

-- Seconds that devices shall wait between polls; NULL: not asked for.
ALTER TABLE channel ADD COLUMN poll_interval INTEGER CHECK (poll_interval BETWEEN 30 AND 3600);

-- The versions of a channel's documents, each document with a counter of its own.
CREATE TABLE document (
  id INTEGER PRIMARY KEY,
  channel_id INTEGER NOT NULL REFERENCES channel,
  name TEXT NOT NULL CHECK (name IN ('policy', 'prefetch')),
  version INTEGER NOT NULL CHECK (version >= 1),
  kind TEXT NOT NULL
    CHECK (kind IN ('push', 'rollback', 'restore', 'set', 'bypass', 'kill', 'resume', 'script')),
  -- The version whose content a rollback brought back.
  source INTEGER CHECK (source >= 0 AND source < version),
  at INTEGER NOT NULL,
  author TEXT NOT NULL,
  message TEXT NOT NULL,
  -- The newest release of the channel then; 0: none yet.
  manifest_version INTEGER NOT NULL CHECK (manifest_version >= 0),
  -- Canonical JSON: the config array of a prefetch config, the members of a policy without its version.
  content TEXT NOT NULL CHECK (length(content) > 0),
  UNIQUE (channel_id, name, version),
  CHECK ((kind = 'rollback') = (source IS NOT NULL))
) STRICT;

CREATE TRIGGER document_versions_only_rise BEFORE INSERT ON document
BEGIN
  SELECT RAISE(ABORT, 'document versions only rise')
  WHERE NEW.version <= (SELECT max(version) FROM document
    WHERE channel_id = NEW.channel_id AND name = NEW.name);
END;

CREATE TRIGGER document_is_immutable BEFORE UPDATE ON document
BEGIN SELECT RAISE(ABORT, 'a version of a document never changes'); END;

CREATE TRIGGER document_newest_stays BEFORE DELETE ON document
WHEN OLD.version = (SELECT max(version) FROM document
  WHERE channel_id = OLD.channel_id AND name = OLD.name)
BEGIN SELECT RAISE(ABORT, 'the newest version of a document stays'); END;

-- The bytes of scripts that policies name, small enough to lie here.
CREATE TABLE policy_script (
  sha256 BLOB PRIMARY KEY CHECK (length(sha256) = 32),
  bytes BLOB NOT NULL CHECK (length(bytes) BETWEEN 1 AND 1000000),
  stored_at INTEGER NOT NULL
) STRICT;

CREATE TRIGGER policy_script_is_immutable BEFORE UPDATE ON policy_script
BEGIN SELECT RAISE(ABORT, 'a script never changes'); END;
