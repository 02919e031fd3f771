-- What devices report about rollouts, and what a rollout does by itself.

-- Devices of days that are over, as far as their networks count (docs/evidence.md). A candidate that is made again keeps its seed, and
-- so its evidence.
CREATE TABLE evidence_hour (
  channel_id INTEGER NOT NULL REFERENCES channel,
  seed TEXT NOT NULL CHECK (length(seed) BETWEEN 1 AND 64 AND seed NOT GLOB '*[^A-Za-z0-9_-]*'),
  -- In hours since 1970.
  hour INTEGER NOT NULL CHECK (hour >= 0),
  arm TEXT NOT NULL CHECK (arm IN ('candidate', 'control')),
  opened REAL NOT NULL CHECK (opened >= 0),
  failed REAL NOT NULL CHECK (failed >= 0),
  PRIMARY KEY (channel_id, seed, hour, arm)
) STRICT, WITHOUT ROWID;

-- Devices of today and yesterday, by network.
CREATE TABLE evidence_network (
  channel_id INTEGER NOT NULL REFERENCES channel,
  seed TEXT NOT NULL CHECK (length(seed) BETWEEN 1 AND 64 AND seed NOT GLOB '*[^A-Za-z0-9_-]*'),
  hour INTEGER NOT NULL CHECK (hour >= 0),
  arm TEXT NOT NULL CHECK (arm IN ('candidate', 'control')),
  -- A digest of the prefix of their addresses, by the day's key; 0: networks that aren't told apart.
  network INTEGER NOT NULL,
  opened INTEGER NOT NULL CHECK (opened BETWEEN 0 AND 9007199254740992),
  failed INTEGER NOT NULL CHECK (failed BETWEEN 0 AND 9007199254740992),
  PRIMARY KEY (channel_id, seed, hour, arm, network)
) STRICT, WITHOUT ROWID;

-- The keys of these digests. They go with their day's rows.
CREATE TABLE evidence_key (
  channel_id INTEGER NOT NULL REFERENCES channel,
  -- In days since 1970.
  day INTEGER NOT NULL CHECK (day >= 0),
  key BLOB NOT NULL CHECK (length(key) = 32),
  PRIMARY KEY (channel_id, day)
) STRICT, WITHOUT ROWID;

-- What a rollout does by itself, and what it came to. Without a row: an alarm pauses it, and nothing else happens.
CREATE TABLE rollout_plan (
  channel_id INTEGER NOT NULL REFERENCES channel,
  seed TEXT NOT NULL CHECK (length(seed) BETWEEN 1 AND 64 AND seed NOT GLOB '*[^A-Za-z0-9_-]*'),
  -- Whether an alarm pauses it; once a person has resumed it after one, it doesn't.
  pauses INTEGER NOT NULL DEFAULT 1 CHECK (pauses IN (0, 1)),
  -- Whether it may be halted without a person.
  halts INTEGER NOT NULL DEFAULT 0 CHECK (halts IN (0, 1)),
  -- When an alarm paused it last.
  alarmed_at INTEGER,
  -- The highest e-value so far, as its natural logarithm.
  highest REAL NOT NULL DEFAULT 0,
  -- The first hour that counts: the one after a person has resumed the rollout after an alarm.
  first_hour INTEGER NOT NULL DEFAULT 0,
  -- In how many networks the candidate failed on the day on which it did in most of them, of the days that are over.
  failing_networks INTEGER NOT NULL DEFAULT 0 CHECK (failing_networks >= 0),
  -- The shares of a ramp, of 10,000, separated by spaces; NULL: a person takes each step.
  steps TEXT CHECK (length(steps) > 0),
  -- Whether the rollout is completed after the last of them.
  completes INTEGER NOT NULL DEFAULT 0 CHECK (completes IN (0, 1)),
  each_opened INTEGER NOT NULL DEFAULT 2000 CHECK (each_opened >= 1),
  -- In milliseconds.
  at_least INTEGER NOT NULL DEFAULT 3600000 CHECK (at_least >= 0),
  -- When the step began, in milliseconds since 1970, and how many devices had counted until then; NULL: with the rollout.
  stepped_at INTEGER,
  stepped_candidate REAL NOT NULL DEFAULT 0 CHECK (stepped_candidate >= 0),
  stepped_control REAL NOT NULL DEFAULT 0 CHECK (stepped_control >= 0),
  PRIMARY KEY (channel_id, seed)
) STRICT, WITHOUT ROWID;
