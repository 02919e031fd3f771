-- The fallbacks of pages (docs/protocol.md, section 3): for which navigations that nothing else answers a page answers. They
-- belong to what is said of bytes, as headers do: others make another resource version, and two bundles hold one URL only with
-- the same.

-- As in step 10: the rows are there again, under the same ids, before the transaction ends.
PRAGMA defer_foreign_keys = ON;

CREATE TABLE kept_content_type AS SELECT id, text, headers FROM content_type;
DROP TABLE content_type;

CREATE TABLE content_type (
  id INTEGER PRIMARY KEY,
  text TEXT NOT NULL CHECK (length(text) > 0),
  -- Canonical JSON, an object of names and values.
  headers TEXT NOT NULL DEFAULT '{}' CHECK (headers GLOB '{*}'),
  -- Canonical JSON, an array of objects; [] is written as no member.
  fallback TEXT NOT NULL DEFAULT '[]' CHECK (fallback GLOB '[[]*]'),
  UNIQUE (text, headers, fallback)
) STRICT;

INSERT INTO content_type (id, text, headers) SELECT id, text, headers FROM kept_content_type;
DROP TABLE kept_content_type;

CREATE TRIGGER content_type_is_immutable BEFORE UPDATE ON content_type
BEGIN SELECT RAISE(ABORT, 'a content type never changes'); END;
