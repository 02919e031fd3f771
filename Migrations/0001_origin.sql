-- Everything an origin keeps: apps, channels, bundles, resources, releases and tokens.
--
-- Manifest history is temporal rows: an entry is in version v when since <= v < until (until NULL: still live).
-- The rules that no release may break stand here, as constraints and triggers, so that no code path can break them.
-- Times are milliseconds since 1970 (UTC).

-- Tells this data from any other that ever answers at the same address.
CREATE TABLE origin (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  id TEXT NOT NULL CHECK (length(id) = 32)
) STRICT;

INSERT INTO origin (one, id) VALUES (1, lower(hex(randomblob(16))));

CREATE TABLE app (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  -- NOCASE: names that differ only in case are one name.
  name TEXT NOT NULL UNIQUE COLLATE NOCASE
    CHECK (length(name) <= 64 AND name GLOB '[A-Za-z]*' AND name NOT GLOB '*[^A-Za-z0-9_-]*'
      AND name <> 'delta'),
  created_at INTEGER NOT NULL
) STRICT;

-- The app that answers polls which name none: at most one row.
CREATE TABLE default_app (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  app_id INTEGER NOT NULL REFERENCES app
) STRICT;

CREATE TABLE public_url (
  id INTEGER PRIMARY KEY,
  text TEXT NOT NULL UNIQUE CHECK (text GLOB 'http*://?*')
) STRICT;

CREATE TABLE channel (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  app_id INTEGER NOT NULL REFERENCES app,
  name TEXT NOT NULL
    CHECK (length(name) <= 32 AND name GLOB '[a-z]*' AND name NOT GLOB '*[^a-z0-9-]*'),
  public_url_id INTEGER NOT NULL REFERENCES public_url,
  -- The lowest number that the next release may have; a restore puts it far above what devices may have seen.
  least_next INTEGER NOT NULL DEFAULT 1 CHECK (least_next >= 1),
  created_at INTEGER NOT NULL,
  UNIQUE (app_id, name)
) STRICT;

CREATE TRIGGER channel_numbers_only_rise BEFORE UPDATE OF least_next ON channel
WHEN NEW.least_next < OLD.least_next
BEGIN SELECT RAISE(ABORT, 'the next version of a channel only rises'); END;

CREATE TABLE url (
  id INTEGER PRIMARY KEY,
  channel_id INTEGER NOT NULL REFERENCES channel,
  text TEXT NOT NULL CHECK (length(text) > 0),
  -- What matching URLs have in common; NULL where it is the text itself, as for nearly all.
  match_key TEXT CHECK (match_key <> text),
  -- How many resource versions this URL has been given.
  versions INTEGER NOT NULL DEFAULT 0,
  UNIQUE (channel_id, text)
) STRICT;

CREATE INDEX url_by_match_key ON url (channel_id, match_key) WHERE match_key IS NOT NULL;

CREATE TRIGGER url_is_immutable BEFORE UPDATE ON url
WHEN NEW.id <> OLD.id OR NEW.channel_id <> OLD.channel_id OR NEW.text <> OLD.text
  OR NEW.match_key IS NOT OLD.match_key OR NEW.versions < OLD.versions
BEGIN SELECT RAISE(ABORT, 'a URL never changes'); END;

CREATE TABLE content_type (
  id INTEGER PRIMARY KEY,
  text TEXT NOT NULL UNIQUE CHECK (length(text) > 0)
) STRICT;

CREATE TABLE blob (
  id INTEGER PRIMARY KEY,
  sha256 BLOB NOT NULL UNIQUE CHECK (length(sha256) = 32),
  md5 BLOB NOT NULL CHECK (length(md5) = 16),
  size INTEGER NOT NULL CHECK (size >= 0),
  stored_at INTEGER NOT NULL,
  -- When its file was found to have other bytes and was set aside; NULL: good.
  quarantined_at INTEGER
) STRICT;

CREATE INDEX blob_quarantined ON blob (quarantined_at) WHERE quarantined_at IS NOT NULL;

CREATE TRIGGER blob_is_immutable BEFORE UPDATE ON blob
WHEN NEW.id <> OLD.id OR NEW.sha256 <> OLD.sha256 OR NEW.md5 <> OLD.md5 OR NEW.size <> OLD.size
BEGIN SELECT RAISE(ABORT, 'a blob never changes'); END;

-- A URL with its bytes. The download URL is made of this row (public URL, app id, brought_in, version, the UUID of
-- the blob's sha256, the name of the URL), so it stays what it was when the row was made.
CREATE TABLE resource (
  id INTEGER PRIMARY KEY,
  url_id INTEGER NOT NULL REFERENCES url,
  version INTEGER NOT NULL CHECK (version >= 1),
  blob_id INTEGER NOT NULL REFERENCES blob,
  content_type_id INTEGER NOT NULL REFERENCES content_type,
  public_url_id INTEGER NOT NULL REFERENCES public_url,
  brought_in INTEGER NOT NULL CHECK (brought_in >= 1),
  UNIQUE (url_id, version, public_url_id),
  UNIQUE (url_id, blob_id, content_type_id, public_url_id)
) STRICT;

CREATE INDEX resource_by_blob ON resource (blob_id);

CREATE TRIGGER resource_is_immutable BEFORE UPDATE ON resource
BEGIN SELECT RAISE(ABORT, 'a resource never changes'); END;

CREATE TRIGGER resource_versions_rise_by_one BEFORE INSERT ON resource
BEGIN
  SELECT RAISE(ABORT, 'resource versions rise by one')
  WHERE NEW.version > (SELECT versions + 1 FROM url WHERE id = NEW.url_id);
  SELECT RAISE(ABORT, 'a resource version has one content')
  WHERE NEW.version <= (SELECT versions FROM url WHERE id = NEW.url_id)
    AND NOT EXISTS (SELECT 1 FROM resource WHERE url_id = NEW.url_id AND version = NEW.version
      AND blob_id = NEW.blob_id AND content_type_id = NEW.content_type_id);
  SELECT RAISE(ABORT, 'bytes that come back get their old resource version')
  WHERE EXISTS (SELECT 1 FROM resource WHERE url_id = NEW.url_id AND blob_id = NEW.blob_id
    AND content_type_id = NEW.content_type_id AND version <> NEW.version);
END;

CREATE TRIGGER resource_versions_are_counted AFTER INSERT ON resource
BEGIN UPDATE url SET versions = NEW.version WHERE id = NEW.url_id AND versions < NEW.version; END;

CREATE TABLE release (
  channel_id INTEGER NOT NULL REFERENCES channel,
  version INTEGER NOT NULL CHECK (version >= 1),
  kind TEXT NOT NULL
    CHECK (kind IN ('publish', 'unpublish', 'rollback', 'promote', 'rebase', 'restore')),
  at INTEGER NOT NULL,
  author TEXT NOT NULL,
  message TEXT NOT NULL,
  -- sha256 of the canonical resourcemap.
  digest BLOB NOT NULL CHECK (length(digest) = 32),
  -- What it did to the channel's manifest, the union of its bundles.
  added INTEGER NOT NULL CHECK (added >= 0),
  changed INTEGER NOT NULL CHECK (changed >= 0),
  removed INTEGER NOT NULL CHECK (removed >= 0),
  -- The size of what it added and changed.
  new_bytes INTEGER NOT NULL CHECK (new_bytes >= 0),
  -- The manifest afterwards.
  resources INTEGER NOT NULL CHECK (resources >= 0),
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  PRIMARY KEY (channel_id, version)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER release_versions_only_rise BEFORE INSERT ON release
BEGIN
  SELECT RAISE(ABORT, 'manifest versions only rise')
  WHERE NEW.version <= (SELECT max(version) FROM release WHERE channel_id = NEW.channel_id)
    OR NEW.version < (SELECT least_next FROM channel WHERE id = NEW.channel_id);
  SELECT RAISE(ABORT, 'release times never go back')
  WHERE NEW.at < (SELECT at FROM release WHERE channel_id = NEW.channel_id ORDER BY version DESC LIMIT 1);
END;

CREATE TRIGGER release_is_immutable BEFORE UPDATE ON release
BEGIN SELECT RAISE(ABORT, 'a release never changes'); END;

CREATE TRIGGER release_newest_stays BEFORE DELETE ON release
WHEN OLD.version = (SELECT max(version) FROM release WHERE channel_id = OLD.channel_id)
BEGIN SELECT RAISE(ABORT, 'the newest release of a channel stays'); END;

CREATE TABLE bundle (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  channel_id INTEGER NOT NULL REFERENCES channel,
  name TEXT NOT NULL
    CHECK (length(name) <= 128 AND name GLOB '[A-Za-z0-9]*' AND name NOT GLOB '*[^A-Za-z0-9._-]*'),
  -- The last version at which it changed, and what it holds since; kept by release_bundle's trigger.
  version INTEGER NOT NULL DEFAULT 0,
  resources INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0,
  UNIQUE (channel_id, name)
) STRICT;

CREATE TRIGGER bundle_versions_only_rise BEFORE UPDATE ON bundle
WHEN NEW.version < OLD.version OR NEW.channel_id <> OLD.channel_id OR NEW.id <> OLD.id
BEGIN SELECT RAISE(ABORT, 'the version of a bundle only rises'); END;

CREATE TABLE release_bundle (
  bundle_id INTEGER NOT NULL REFERENCES bundle,
  version INTEGER NOT NULL,
  channel_id INTEGER NOT NULL,
  added INTEGER NOT NULL CHECK (added >= 0),
  changed INTEGER NOT NULL CHECK (changed >= 0),
  removed INTEGER NOT NULL CHECK (removed >= 0),
  -- The bundle afterwards.
  resources INTEGER NOT NULL CHECK (resources >= 0),
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  PRIMARY KEY (bundle_id, version),
  FOREIGN KEY (channel_id, version) REFERENCES release (channel_id, version)
) STRICT, WITHOUT ROWID;

CREATE INDEX release_bundle_by_release ON release_bundle (channel_id, version);

CREATE TRIGGER release_bundle_channel BEFORE INSERT ON release_bundle
WHEN NEW.channel_id IS NOT (SELECT channel_id FROM bundle WHERE id = NEW.bundle_id)
BEGIN SELECT RAISE(ABORT, 'a release changes bundles of its own channel'); END;

CREATE TRIGGER release_bundle_is_newest AFTER INSERT ON release_bundle
BEGIN
  UPDATE bundle SET version = NEW.version, resources = NEW.resources, bytes = NEW.bytes
  WHERE id = NEW.bundle_id;
END;

-- Which resource a bundle has under a URL, and in which versions.
CREATE TABLE entry (
  url_id INTEGER NOT NULL REFERENCES url,
  bundle_id INTEGER NOT NULL REFERENCES bundle,
  since INTEGER NOT NULL CHECK (since >= 1),
  until INTEGER CHECK (until > since),
  resource_id INTEGER NOT NULL REFERENCES resource,
  PRIMARY KEY (url_id, bundle_id, since)
) STRICT, WITHOUT ROWID;

-- One live row for each URL of a bundle.
CREATE UNIQUE INDEX entry_live ON entry (bundle_id, url_id) WHERE until IS NULL;
CREATE INDEX entry_by_since ON entry (bundle_id, since);
CREATE INDEX entry_by_until ON entry (bundle_id, until) WHERE until IS NOT NULL;
CREATE INDEX entry_by_resource ON entry (resource_id);

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
  SELECT RAISE(ABORT, 'two bundles hold one URL only with equal bytes and type')
  WHERE EXISTS (SELECT 1 FROM entry WHERE url_id = NEW.url_id AND until IS NULL
    AND resource_id <> NEW.resource_id);
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

CREATE TRIGGER entry_only_ends BEFORE UPDATE ON entry
WHEN OLD.until IS NOT NULL OR NEW.url_id <> OLD.url_id OR NEW.bundle_id <> OLD.bundle_id
  OR NEW.since <> OLD.since OR NEW.resource_id <> OLD.resource_id
  OR NEW.until IS NOT (SELECT max(version) FROM release
    WHERE channel_id = (SELECT channel_id FROM bundle WHERE id = OLD.bundle_id))
BEGIN SELECT RAISE(ABORT, 'an entry ends once, at the newest version, and never changes otherwise'); END;

CREATE TRIGGER entry_live_stays BEFORE DELETE ON entry
WHEN OLD.until IS NULL
BEGIN SELECT RAISE(ABORT, 'a live entry ends with a release; it is not deleted'); END;

CREATE TABLE token (
  id TEXT PRIMARY KEY CHECK (length(id) >= 8),
  name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 128),
  -- sha256 of the secret, which is 32 random bytes: nothing to guess, so nothing to stretch.
  hash BLOB NOT NULL CHECK (length(hash) = 32),
  scope TEXT NOT NULL CHECK (scope IN ('read', 'publish', 'admin')),
  -- NULL: every app, every channel.
  app TEXT,
  channel TEXT,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER,
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX token_by_name ON token (name) WHERE revoked_at IS NULL;
