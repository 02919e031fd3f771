-- Acts that are recorded now and carried out later. The act and the end of its row are one transaction.

CREATE TABLE scheduled_act (
  -- In the order in which they were scheduled.
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  channel_id INTEGER NOT NULL REFERENCES channel,
  -- What is done, such as publish or rollout.set; and in words, for people.
  act TEXT NOT NULL,
  summary TEXT NOT NULL,
  -- Milliseconds since 1970, as all times.
  due_at INTEGER NOT NULL CHECK (due_at > 0),
  created_at INTEGER NOT NULL,
  -- The token that scheduled it, and with which it is carried out.
  token_id TEXT NOT NULL,
  author TEXT NOT NULL,
  address TEXT NOT NULL,
  -- The request that is carried out: the route below the channel, and its body, which is dropped with the end.
  route TEXT NOT NULL,
  request BLOB NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'done', 'failed', 'missed', 'cancelled')),
  ended_at INTEGER,
  ended_by TEXT,
  -- The version that it made or, while it waits since its files couldn't be pushed, the channel's newest one then.
  version INTEGER,
  -- Why it failed or, while it waits, why it couldn't be carried out yet.
  code TEXT,
  reason TEXT,
  CHECK ((state = 'waiting') = (ended_at IS NULL))
) STRICT;

CREATE INDEX scheduled_act_due ON scheduled_act (due_at, id) WHERE state = 'waiting';
CREATE INDEX scheduled_act_by_channel ON scheduled_act (channel_id, id);

-- What an act that waits needs: gc keeps it.
CREATE TABLE scheduled_blob (
  act_id INTEGER NOT NULL REFERENCES scheduled_act ON DELETE CASCADE,
  sha256 BLOB NOT NULL CHECK (length(sha256) = 32),
  PRIMARY KEY (act_id, sha256)
) STRICT, WITHOUT ROWID;
CREATE INDEX scheduled_blob_by_digest ON scheduled_blob (sha256);

CREATE TABLE scheduled_version (
  act_id INTEGER NOT NULL REFERENCES scheduled_act ON DELETE CASCADE,
  channel_id INTEGER NOT NULL REFERENCES channel,
  version INTEGER NOT NULL,
  PRIMARY KEY (act_id, channel_id, version)
) STRICT, WITHOUT ROWID;
CREATE INDEX scheduled_version_by_channel ON scheduled_version (channel_id, version);
