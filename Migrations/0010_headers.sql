-- The security headers of entries (DESIGN §3). A row of content_type is all that is said of bytes beside the bytes: their
-- type, and the headers of whoever answers them from a local file. So the rules about content types hold for both: other
-- headers make another resource version, and two bundles hold one URL only with the same.

-- "If deferred foreign key constraints are violated when DROP TABLE …": the rows are there again, under the same ids,
-- before the transaction ends.
PRAGMA defer_foreign_keys = ON;

CREATE TABLE kept_content_type AS SELECT id, text FROM content_type;
DROP TABLE content_type;

CREATE TABLE content_type (
  id INTEGER PRIMARY KEY,
  text TEXT NOT NULL CHECK (length(text) > 0),
  -- Canonical JSON, an object of names and values.
  headers TEXT NOT NULL DEFAULT '{}' CHECK (headers GLOB '{*}'),
  UNIQUE (text, headers)
) STRICT;

INSERT INTO content_type (id, text) SELECT id, text FROM kept_content_type;
DROP TABLE kept_content_type;

CREATE TRIGGER content_type_is_immutable BEFORE UPDATE ON content_type
BEGIN SELECT RAISE(ABORT, 'a content type never changes'); END;

-- Headers may come and go with each build (a Content-Security-Policy lists hashes of scripts), so gc asks who needs them.
CREATE INDEX resource_by_content_type ON resource (content_type_id);
