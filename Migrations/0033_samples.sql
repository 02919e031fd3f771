-- What happened when pages failed: examples that devices send, without what may name a person.

-- 0: devices send none; NULL: they do.
ALTER TABLE channel ADD COLUMN samples INTEGER CHECK (samples = 0);

-- A kind of failure of a page, told apart by its message and its stack's first frame.
CREATE TABLE error_sample (
  id INTEGER PRIMARY KEY,
  channel_id INTEGER NOT NULL,
  version INTEGER NOT NULL,
  page TEXT NOT NULL CHECK (length(CAST(page AS BLOB)) BETWEEN 1 AND 1024),
  kind TEXT NOT NULL CHECK (kind IN ('script', 'rejection', 'page', 'process')),
  message TEXT NOT NULL CHECK (length(CAST(message AS BLOB)) <= 512),
  frame TEXT NOT NULL CHECK (length(CAST(frame AS BLOB)) <= 300),
  -- The top frames, the first one included, one per line.
  stack TEXT NOT NULL CHECK (length(CAST(stack AS BLOB)) <= 3100),
  -- The first few engines that it was seen in, one per line.
  engines TEXT NOT NULL CHECK (length(CAST(engines AS BLOB)) <= 400),
  count INTEGER NOT NULL CHECK (count >= 1),
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  UNIQUE (channel_id, version, page, kind, message, frame),
  FOREIGN KEY (channel_id, version) REFERENCES release (channel_id, version) ON DELETE CASCADE
) STRICT;

CREATE INDEX error_sample_by_time ON error_sample (last_at);

-- How many more there were than are kept. An empty page stands for all pages without a sample.
CREATE TABLE error_sample_others (
  channel_id INTEGER NOT NULL,
  version INTEGER NOT NULL,
  page TEXT NOT NULL,
  count INTEGER NOT NULL CHECK (count >= 1),
  last_at INTEGER NOT NULL,
  PRIMARY KEY (channel_id, version, page),
  FOREIGN KEY (channel_id, version) REFERENCES release (channel_id, version) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
