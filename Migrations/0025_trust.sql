-- Roots, and what publishers and origin sign under them (docs/protocol.md, section 14). Envelopes are canonical JSON.

-- The roots of an app, as they were put in force one after another.
CREATE TABLE trust_root (
  id INTEGER PRIMARY KEY,
  app_id INTEGER NOT NULL REFERENCES app,
  number INTEGER NOT NULL CHECK (number >= 1),
  envelope TEXT NOT NULL CHECK (length(envelope) BETWEEN 1 AND 98304),
  at INTEGER NOT NULL,
  author TEXT NOT NULL,
  UNIQUE (app_id, number)
) STRICT;

CREATE TRIGGER trust_root_numbers_rise_by_one BEFORE INSERT ON trust_root
WHEN NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM trust_root WHERE app_id = NEW.app_id)
BEGIN SELECT RAISE(ABORT, 'the numbers of roots rise by one'); END;

CREATE TRIGGER trust_root_is_immutable BEFORE UPDATE ON trust_root
BEGIN SELECT RAISE(ABORT, 'a root never changes'); END;

CREATE TRIGGER trust_root_stays BEFORE DELETE ON trust_root
BEGIN SELECT RAISE(ABORT, 'a root stays'); END;

-- The version from which on entries name their bundle; NULL: none does.
ALTER TABLE channel ADD COLUMN bundles_since INTEGER CHECK (bundles_since >= 1);

CREATE TRIGGER channel_bundles_since BEFORE UPDATE OF bundles_since ON channel
WHEN NEW.bundles_since IS NOT OLD.bundles_since
BEGIN
  SELECT RAISE(ABORT, 'from which version on entries name their bundle is set once')
  WHERE OLD.bundles_since IS NOT NULL
    OR NEW.bundles_since IS NOT (SELECT max(version) FROM release WHERE channel_id = NEW.id);
  SELECT RAISE(ABORT, 'where entries name their bundle, a URL belongs to one')
  FROM bundle AS b
  JOIN entry AS e ON e.bundle_id = b.id AND e.until IS NULL
  JOIN entry AS other ON other.url_id = e.url_id AND other.bundle_id > e.bundle_id AND other.until IS NULL
  WHERE b.channel_id = NEW.id;
END;

DROP TRIGGER entry_insert;
CREATE TRIGGER entry_insert BEFORE INSERT ON entry
BEGIN
  SELECT RAISE(ABORT, 'an entry begins live, at the newest version')
  WHERE NEW.until IS NOT NULL OR NEW.since IS NOT (SELECT max(version) FROM release
    WHERE channel_id = (SELECT channel_id FROM bundle WHERE id = NEW.bundle_id));
  SELECT RAISE(ABORT, 'an entry stays in one channel')
  WHERE (SELECT channel_id FROM bundle WHERE id = NEW.bundle_id)
    IS NOT (SELECT channel_id FROM url WHERE id = NEW.url_id);
  SELECT RAISE(ABORT, 'an entry has a resource of its own URL')
  WHERE NEW.url_id IS NOT (SELECT url_id FROM resource WHERE id = NEW.resource_id);
  -- Asked only where another bundle holds the URL.
  SELECT CASE
    WHEN e.resource_id <> NEW.resource_id
      THEN RAISE(ABORT, 'two bundles hold one URL only with equal bytes and type')
    WHEN (SELECT c.bundles_since FROM bundle AS b JOIN channel AS c ON c.id = b.channel_id
        WHERE b.id = NEW.bundle_id) IS NOT NULL
      THEN RAISE(ABORT, 'where entries name their bundle, a URL belongs to one')
    END
  FROM entry AS e WHERE e.url_id = NEW.url_id AND e.until IS NULL AND e.bundle_id <> NEW.bundle_id;
  -- A match key is another URL's text or its match key: two look-ups, each on its own index.
  SELECT RAISE(ABORT, 'two live URLs of a channel match each other')
  FROM url AS mine
  JOIN url AS other ON other.channel_id = mine.channel_id
    AND other.text = coalesce(mine.match_key, mine.text) AND other.match_key IS NULL
  JOIN entry AS held ON held.url_id = other.id AND held.until IS NULL
  WHERE mine.id = NEW.url_id AND other.id <> mine.id;
  SELECT RAISE(ABORT, 'two live URLs of a channel match each other')
  FROM url AS mine
  JOIN url AS other ON other.channel_id = mine.channel_id
    AND other.match_key = coalesce(mine.match_key, mine.text)
  JOIN entry AS held ON held.url_id = other.id AND held.until IS NULL
  WHERE mine.id = NEW.url_id AND other.id <> mine.id;
END;

-- What a release statement signs of a bundle, from each version on at which that changed; NULL: the bundle was empty.
CREATE TABLE bundle_content (
  bundle_id INTEGER NOT NULL REFERENCES bundle ON DELETE CASCADE,
  version INTEGER NOT NULL CHECK (version >= 1),
  content BLOB CHECK (length(content) = 32),
  PRIMARY KEY (bundle_id, version)
) STRICT, WITHOUT ROWID;

CREATE INDEX bundle_content_by_digest ON bundle_content (content) WHERE content IS NOT NULL;

CREATE TRIGGER bundle_content_versions_only_rise BEFORE INSERT ON bundle_content
WHEN NEW.version <= (SELECT max(version) FROM bundle_content WHERE bundle_id = NEW.bundle_id)
BEGIN SELECT RAISE(ABORT, 'the contents of a bundle follow each other'); END;

CREATE TRIGGER bundle_content_is_immutable BEFORE UPDATE ON bundle_content
BEGIN SELECT RAISE(ABORT, 'what a bundle contained never changes'); END;

-- Statements for contents of bundles. Which of them devices get depends on the root in force.
CREATE TABLE release_statement (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  app_id INTEGER NOT NULL REFERENCES app,
  bundle TEXT NOT NULL CHECK (length(bundle) BETWEEN 1 AND 128),
  content BLOB NOT NULL CHECK (length(content) = 32),
  serial INTEGER NOT NULL CHECK (serial >= 0),
  floor INTEGER NOT NULL CHECK (floor BETWEEN 0 AND serial),
  -- The SHA-256 of the payload, and whose signatures the envelope has: what tells two statements apart.
  digest BLOB NOT NULL CHECK (length(digest) = 32),
  keys TEXT NOT NULL,
  envelope TEXT NOT NULL CHECK (length(envelope) BETWEEN 1 AND 98304),
  at INTEGER NOT NULL,
  author TEXT NOT NULL,
  UNIQUE (app_id, bundle, content, digest, keys)
) STRICT;

CREATE TRIGGER release_statement_is_immutable BEFORE UPDATE ON release_statement
BEGIN SELECT RAISE(ABORT, 'a statement never changes'); END;

-- The same for prefetch configs.
CREATE TABLE prefetch_statement (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  app_id INTEGER NOT NULL REFERENCES app,
  content BLOB NOT NULL CHECK (length(content) = 32),
  serial INTEGER NOT NULL CHECK (serial >= 0),
  floor INTEGER NOT NULL CHECK (floor BETWEEN 0 AND serial),
  digest BLOB NOT NULL CHECK (length(digest) = 32),
  keys TEXT NOT NULL,
  envelope TEXT NOT NULL CHECK (length(envelope) BETWEEN 1 AND 98304),
  at INTEGER NOT NULL,
  author TEXT NOT NULL,
  UNIQUE (app_id, content, digest, keys)
) STRICT;

CREATE TRIGGER prefetch_statement_is_immutable BEFORE UPDATE ON prefetch_statement
BEGIN SELECT RAISE(ABORT, 'a statement never changes'); END;

-- The lowest serial that devices of a channel still take, as far as the origin knows; no row: 0. Only a root lowers one.
CREATE TABLE trust_floor (
  channel_id INTEGER NOT NULL REFERENCES channel,
  -- The bundle's name; empty for prefetch configs. A bundle may be deleted, and its floor stays.
  bundle TEXT NOT NULL CHECK (length(bundle) <= 128),
  floor INTEGER NOT NULL CHECK (floor >= 0),
  -- The number of the newest root that set it; 0: only statements did.
  root INTEGER NOT NULL DEFAULT 0 CHECK (root >= 0),
  PRIMARY KEY (channel_id, bundle)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER trust_floor_only_rises BEFORE UPDATE ON trust_floor
WHEN NEW.channel_id <> OLD.channel_id OR NEW.bundle <> OLD.bundle OR NEW.floor < OLD.floor AND NEW.root <= OLD.root
BEGIN SELECT RAISE(ABORT, 'only a root lowers a floor'); END;

CREATE TRIGGER trust_floor_stays BEFORE DELETE ON trust_floor
BEGIN SELECT RAISE(ABORT, 'only a root lowers a floor'); END;

-- The newest head of each channel. Its key is the one that signed it.
CREATE TABLE head (
  channel_id INTEGER PRIMARY KEY REFERENCES channel,
  at INTEGER NOT NULL CHECK (at >= 0),
  key BLOB NOT NULL CHECK (length(key) = 32),
  envelope TEXT NOT NULL CHECK (length(envelope) BETWEEN 1 AND 98304)
) STRICT;

CREATE TRIGGER head_times_only_rise BEFORE UPDATE ON head
WHEN NEW.channel_id <> OLD.channel_id OR NEW.at <= OLD.at AND NEW.key = OLD.key
BEGIN SELECT RAISE(ABORT, 'the times of heads only rise, unless another key signs them'); END;
