-- Bytes that were purged: they aren't stored again before somebody lifts that.

CREATE TABLE purge (
  sha256 BLOB PRIMARY KEY CHECK (length(sha256) = 32),
  at INTEGER NOT NULL,
  author TEXT NOT NULL,
  reason TEXT NOT NULL CHECK (length(reason) BETWEEN 1 AND 1024)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER purge_is_immutable BEFORE UPDATE ON purge
BEGIN SELECT RAISE(ABORT, 'a purge never changes'); END;

CREATE TRIGGER blob_is_not_purged BEFORE INSERT ON blob
WHEN EXISTS (SELECT 1 FROM purge WHERE sha256 = NEW.sha256)
BEGIN SELECT RAISE(ABORT, 'purged bytes are not stored again'); END;

-- While their releases are still being made without them. First a look whether there is any purge at all.
CREATE TRIGGER entry_is_not_purged BEFORE INSERT ON entry
WHEN EXISTS (SELECT 1 FROM purge) AND EXISTS (SELECT 1 FROM purge WHERE sha256 = (SELECT b.sha256
  FROM resource AS r JOIN blob AS b ON b.id = r.blob_id WHERE r.id = NEW.resource_id))
BEGIN SELECT RAISE(ABORT, 'purged bytes are not released again'); END;
