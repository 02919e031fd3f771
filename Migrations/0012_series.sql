-- What charts show of the last 90 days, at a bounded cost: by the hour for eight days, by the day before that.

-- 0: the row is about its hour. Else it stands for a day, at the last of the hours in which such polls came; so many were they.
ALTER TABLE poll_count ADD COLUMN hours INTEGER NOT NULL DEFAULT 0 CHECK (hours >= 0);

-- Failures that devices told, by the hour (since 1970); those of a day stand at the last hour that had any.
CREATE TABLE failure_hour (
  channel_id INTEGER NOT NULL REFERENCES channel,
  hour INTEGER NOT NULL,
  reason TEXT NOT NULL CHECK (length(reason) BETWEEN 1 AND 32),
  failures INTEGER NOT NULL CHECK (failures >= 1),
  PRIMARY KEY (channel_id, hour, reason)
) STRICT, WITHOUT ROWID;

CREATE INDEX failure_hour_by_hour ON failure_hour (hour);

INSERT INTO failure_hour (channel_id, hour, reason, failures)
SELECT channel_id, min(day * 24 + 23, unixepoch() / 3600), reason, sum(failures) FROM failure_count
GROUP BY channel_id, min(day * 24 + 23, unixepoch() / 3600), reason;

-- The days (since 1970) through which hours were taken together.
CREATE TABLE counted_day (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  through INTEGER NOT NULL
) STRICT;

-- The disk under the data folder, by the hour, in bytes.
CREATE TABLE disk_hour (
  hour INTEGER PRIMARY KEY,
  size INTEGER NOT NULL,
  available INTEGER NOT NULL,
  -- Of files that releases name, and of what was made of them.
  stored INTEGER NOT NULL
) STRICT;

-- What was done to one channel, and by which row a release stands in the trail.
CREATE INDEX audit_by_channel ON audit (app, channel, at);
