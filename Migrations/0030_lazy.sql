-- Files that updates leave out until a page asks for them (docs/protocol.md, section 3). It belongs to what is said of bytes, as
-- headers and fallbacks do: a file that becomes lazy, or ceases to be, gets another resource version.

-- As in step 10: the rows are there again, under the same ids, before the transaction ends.
PRAGMA defer_foreign_keys = ON;

CREATE TABLE kept_content_type AS SELECT id, text, headers, fallback FROM content_type;
DROP TABLE content_type;

CREATE TABLE content_type (
  id INTEGER PRIMARY KEY,
  text TEXT NOT NULL CHECK (length(text) > 0),
  -- Canonical JSON, an object of names and values.
  headers TEXT NOT NULL DEFAULT '{}' CHECK (headers GLOB '{*}'),
  -- Canonical JSON, an array of objects; [] is written as no member.
  fallback TEXT NOT NULL DEFAULT '[]' CHECK (fallback GLOB '[[]*]'),
  -- 0 is written as no member.
  lazy INTEGER NOT NULL DEFAULT 0 CHECK (lazy IN (0, 1)),
  UNIQUE (text, headers, fallback, lazy)
) STRICT;

INSERT INTO content_type (id, text, headers, fallback) SELECT id, text, headers, fallback FROM kept_content_type;
DROP TABLE kept_content_type;

CREATE TRIGGER content_type_is_immutable BEFORE UPDATE ON content_type
BEGIN SELECT RAISE(ABORT, 'a content type never changes'); END;
