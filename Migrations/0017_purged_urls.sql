-- What purged bytes could be reached by when they were removed: a CDN may have it for longer, and nothing else names it any more.
CREATE TABLE purged_url (
  sha256 BLOB NOT NULL REFERENCES purge ON DELETE CASCADE,
  text TEXT NOT NULL,
  -- Whether it is where devices or others download from, and not the URL of a resource.
  is_download INTEGER NOT NULL CHECK (is_download IN (0, 1)),
  PRIMARY KEY (sha256, text)
) STRICT, WITHOUT ROWID;

CREATE INDEX purged_url_by_text ON purged_url (text);
