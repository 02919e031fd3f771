-- When each file's bytes were last read back and compared with its name, in milliseconds since 1970: the scrub
-- (guarantee 7) reads those first that were not read for longest. A new file counts from when it arrived, since it was
-- hashed then; one from before this step counts from now.
ALTER TABLE blob ADD COLUMN checked_at INTEGER NOT NULL DEFAULT 0;
UPDATE blob SET checked_at = unixepoch() * 1000;

CREATE INDEX blob_by_check ON blob (checked_at) WHERE quarantined_at IS NULL;
