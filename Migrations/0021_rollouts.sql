-- Rollouts: releases that go to a part of the fleet first. While one is open, its version, the candidate, is the newest of its
-- channel, and everyone else follows the full version.

CREATE TABLE rollout (
  channel_id INTEGER NOT NULL,
  -- The candidate.
  version INTEGER NOT NULL,
  full_version INTEGER NOT NULL CHECK (full_version >= 1 AND full_version < version),
  -- The rule by which a device decides (docs/protocol.md, section 13).
  seed TEXT NOT NULL CHECK (length(seed) BETWEEN 1 AND 64 AND seed NOT GLOB '*[^A-Za-z0-9_-]*'),
  share INTEGER NOT NULL CHECK (share BETWEEN 0 AND 10000),
  -- Names, separated by spaces.
  group_names TEXT CHECK (length(group_names) > 0),
  app_range TEXT CHECK (length(app_range) BETWEEN 1 AND 256),
  -- Whether nobody new is let in.
  is_paused INTEGER NOT NULL DEFAULT 0 CHECK (is_paused IN (0, 1)),
  state TEXT NOT NULL CHECK (state IN ('open', 'completed', 'halted', 'superseded', 'remade')),
  author TEXT NOT NULL,
  -- When the first candidate with this seed was released.
  started_at INTEGER NOT NULL,
  -- The last change: of the rule, or the end.
  changed_at INTEGER NOT NULL,
  changed_by TEXT NOT NULL,
  -- Why it was halted.
  reason TEXT,
  PRIMARY KEY (channel_id, version),
  FOREIGN KEY (channel_id, version) REFERENCES release (channel_id, version) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- One candidate per channel.
CREATE UNIQUE INDEX rollout_open ON rollout (channel_id) WHERE state = 'open';

CREATE TRIGGER rollout_begins_open BEFORE INSERT ON rollout
WHEN NEW.state <> 'open' OR NEW.version IS NOT (SELECT max(version) FROM release WHERE channel_id = NEW.channel_id)
  OR NOT EXISTS (SELECT 1 FROM release WHERE channel_id = NEW.channel_id AND version = NEW.full_version)
BEGIN SELECT RAISE(ABORT, 'a rollout begins open, with the newest version of its channel'); END;

CREATE TRIGGER rollout_ends_once BEFORE UPDATE ON rollout
WHEN OLD.state <> 'open' OR NEW.channel_id <> OLD.channel_id OR NEW.version <> OLD.version
  OR NEW.full_version <> OLD.full_version OR NEW.seed <> OLD.seed
BEGIN SELECT RAISE(ABORT, 'a rollout ends once, and its versions and seed stay'); END;

CREATE TRIGGER release_beside_rollout BEFORE INSERT ON release
WHEN EXISTS (SELECT 1 FROM rollout WHERE channel_id = NEW.channel_id AND state = 'open')
BEGIN SELECT RAISE(ABORT, 'a release ends the open rollout of its channel'); END;

CREATE TRIGGER release_of_rollout_stays BEFORE DELETE ON release
WHEN EXISTS (SELECT 1 FROM rollout
  WHERE channel_id = OLD.channel_id AND state = 'open' AND OLD.version IN (version, full_version))
BEGIN SELECT RAISE(ABORT, 'both versions of an open rollout stay'); END;
