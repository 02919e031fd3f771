-- What is kept and why: pinned versions, how many polls reported each version, and what devices say went wrong.

-- Versions that gc leaves alone until someone unpins them.
CREATE TABLE pin (
  channel_id INTEGER NOT NULL,
  version INTEGER NOT NULL,
  at INTEGER NOT NULL,
  author TEXT NOT NULL,
  reason TEXT NOT NULL CHECK (length(reason) BETWEEN 1 AND 1024),
  PRIMARY KEY (channel_id, version),
  FOREIGN KEY (channel_id, version) REFERENCES release (channel_id, version)
) STRICT, WITHOUT ROWID;

-- Polls by the hour (since 1970) and the version that they reported; 0: none, -1: one that is not kept.
CREATE TABLE poll_count (
  channel_id INTEGER NOT NULL REFERENCES channel,
  hour INTEGER NOT NULL,
  version INTEGER NOT NULL CHECK (version >= -1),
  polls INTEGER NOT NULL CHECK (polls >= 1),
  PRIMARY KEY (channel_id, hour, version)
) STRICT, WITHOUT ROWID;

CREATE INDEX poll_count_by_hour ON poll_count (hour);

-- Failures that devices told, by day (since 1970); version as above. No device is told apart from another.
CREATE TABLE failure_count (
  channel_id INTEGER NOT NULL REFERENCES channel,
  day INTEGER NOT NULL,
  version INTEGER NOT NULL CHECK (version >= -1),
  reason TEXT NOT NULL CHECK (length(reason) BETWEEN 1 AND 32),
  -- A URL of the channel; empty: another one, or one too many.
  url TEXT NOT NULL,
  failures INTEGER NOT NULL CHECK (failures >= 1),
  PRIMARY KEY (channel_id, day, version, reason, url)
) STRICT, WITHOUT ROWID;

CREATE INDEX failure_count_by_day ON failure_count (day);
