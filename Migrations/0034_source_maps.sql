-- The source maps of scripts and styles, with which stacks are read. Nothing serves them. A map is a channel's, so that nobody reads
-- another app's source text by releasing its script, which everybody has.

CREATE TABLE source_map (
  channel_id INTEGER NOT NULL REFERENCES channel,
  -- The sha256 of the script's or style's bytes, which may not be released yet.
  file BLOB NOT NULL CHECK (length(file) = 32),
  blob_id INTEGER NOT NULL REFERENCES blob,
  stored_at INTEGER NOT NULL,
  PRIMARY KEY (channel_id, file)
) STRICT, WITHOUT ROWID;

CREATE INDEX source_map_by_blob ON source_map (blob_id);
CREATE INDEX source_map_by_file ON source_map (file);
