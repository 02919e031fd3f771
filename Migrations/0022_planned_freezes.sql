-- Freezes by calendar: each begins and ends by itself, since whatever a freeze refuses asks for those of the moment.

CREATE TABLE planned_freeze (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  channel_id INTEGER NOT NULL REFERENCES channel,
  -- Milliseconds since 1970; the channel is frozen from the first to before the second. No end: until it is lifted.
  starts_at INTEGER NOT NULL CHECK (starts_at > 0),
  ends_at INTEGER CHECK (ends_at IS NULL OR ends_at > starts_at),
  at INTEGER NOT NULL,
  author TEXT NOT NULL,
  reason TEXT NOT NULL CHECK (length(reason) > 0)
) STRICT;

CREATE INDEX planned_freeze_by_channel ON planned_freeze (channel_id, starts_at);
