-- What devices are told of rollbacks, what releases may name, and what devices count.

-- The newest version that a rollback made; NULL: none did. It stays when gc drops the release.
ALTER TABLE channel ADD COLUMN rolled_back INTEGER CHECK (rolled_back >= 1);

UPDATE channel SET rolled_back = (SELECT max(version) FROM release
  WHERE channel_id = channel.id AND kind = 'rollback');

CREATE TRIGGER channel_rollbacks_only_rise BEFORE UPDATE OF rolled_back ON channel
WHEN NEW.rolled_back IS NULL AND OLD.rolled_back IS NOT NULL OR NEW.rolled_back < OLD.rolled_back
BEGIN SELECT RAISE(ABORT, 'the newest version that a rollback made only rises'); END;

-- The hosts whose URLs a release may name, separated by spaces; NULL: all.
ALTER TABLE channel ADD COLUMN hosts TEXT CHECK (length(hosts) > 0);
ALTER TABLE token ADD COLUMN hosts TEXT CHECK (length(hosts) > 0);

-- Of 10,000 batches of what devices count, how many they shall send; NULL: not said, so all.
ALTER TABLE channel ADD COLUMN reports INTEGER CHECK (reports BETWEEN 0 AND 10000);

-- What devices counted while they had a version, by fixed names. No device is told apart from another.
CREATE TABLE device_count (
  channel_id INTEGER NOT NULL,
  version INTEGER NOT NULL,
  name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 32),
  count INTEGER NOT NULL CHECK (count >= 1),
  PRIMARY KEY (channel_id, version, name),
  FOREIGN KEY (channel_id, version) REFERENCES release (channel_id, version) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
