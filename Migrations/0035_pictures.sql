-- Pictures of a version's pages, as the smoke test before its release took them. No manifest names them, so devices and mirrors never
-- learn of them; they go with their version.
CREATE TABLE page_picture (
  channel_id INTEGER NOT NULL,
  version INTEGER NOT NULL,
  -- The URL of the page: one that the version lists, or a route that a page of it answers.
  page TEXT NOT NULL CHECK (length(page) BETWEEN 1 AND 4096),
  -- A PNG.
  blob_id INTEGER NOT NULL REFERENCES blob,
  -- In pixels.
  width INTEGER NOT NULL CHECK (width BETWEEN 1 AND 65535),
  height INTEGER NOT NULL CHECK (height BETWEEN 1 AND 65535),
  -- When it was sent.
  at INTEGER NOT NULL,
  PRIMARY KEY (channel_id, version, page),
  FOREIGN KEY (channel_id, version) REFERENCES release (channel_id, version) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX page_picture_by_blob ON page_picture (blob_id);
