-- Webhooks: receivers that are told of what is done here, and what is still to be told.

CREATE TABLE webhook (
  -- 8 hexadecimal digits.
  id TEXT PRIMARY KEY CHECK (length(id) = 8),
  url TEXT NOT NULL CHECK (length(url) BETWEEN 8 AND 4096),
  -- Names of events, separated by spaces.
  events TEXT NOT NULL CHECK (length(events) > 0),
  -- What it is limited to; NULL: all.
  app TEXT,
  channel TEXT CHECK (channel IS NULL OR app IS NOT NULL),
  template TEXT NOT NULL CHECK (template IN ('json', 'slack')),
  allows_private INTEGER NOT NULL CHECK (allows_private IN (0, 1)),
  -- The key that deliveries are signed with.
  secret BLOB NOT NULL CHECK (length(secret) BETWEEN 24 AND 64),
  author TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  disabled_at INTEGER,
  disabled_reason TEXT,
  CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE webhook_delivery (
  -- In the order of the acts.
  id INTEGER PRIMARY KEY,
  webhook_id TEXT NOT NULL REFERENCES webhook ON DELETE CASCADE,
  -- The same over all attempts, so that a receiver can tell a repetition.
  message_id TEXT NOT NULL UNIQUE,
  type TEXT NOT NULL,
  app TEXT NOT NULL,
  channel TEXT NOT NULL,
  at INTEGER NOT NULL,
  body TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'failed')),
  attempts INTEGER NOT NULL CHECK (attempts >= 0),
  -- When it is due.
  next_at INTEGER,
  -- The last attempt.
  tried_at INTEGER,
  status INTEGER,
  error TEXT,
  CHECK ((state = 'waiting') = (next_at IS NOT NULL))
) STRICT;

-- The deliveries of one channel to one receiver wait for each other.
CREATE INDEX webhook_delivery_waiting ON webhook_delivery (webhook_id, app, channel, id) WHERE state = 'waiting';
CREATE INDEX webhook_delivery_by_webhook ON webhook_delivery (webhook_id, id);

-- The mirrors that are late, of which webhooks have been told.
CREATE TABLE late_mirror (
  mirror TEXT NOT NULL,
  channel_id INTEGER NOT NULL REFERENCES channel,
  PRIMARY KEY (mirror, channel_id)
) STRICT, WITHOUT ROWID;
