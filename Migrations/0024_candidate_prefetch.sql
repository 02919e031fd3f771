-- Prefetch configs that go to a part of the fleet first, with the candidate of a rollout.

-- The numbers are those of the channel's prefetch configs. When its rollout is completed, a config moves from here to `document`;
-- until then only devices that are in the rollout follow it.
CREATE TABLE candidate_prefetch (
  channel_id INTEGER NOT NULL REFERENCES channel,
  version INTEGER NOT NULL CHECK (version >= 1),
  -- Of the rollout: a candidate that is made again keeps it.
  seed TEXT NOT NULL CHECK (length(seed) BETWEEN 1 AND 64 AND seed NOT GLOB '*[^A-Za-z0-9_-]*'),
  at INTEGER NOT NULL,
  author TEXT NOT NULL,
  message TEXT NOT NULL,
  -- Canonical JSON: the config array.
  content TEXT NOT NULL CHECK (length(content) > 0),
  PRIMARY KEY (channel_id, version)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER candidate_prefetch_versions_only_rise BEFORE INSERT ON candidate_prefetch
BEGIN
  SELECT RAISE(ABORT, 'document versions only rise')
  WHERE NEW.version <= (SELECT max(version) FROM candidate_prefetch WHERE channel_id = NEW.channel_id)
    OR NEW.version <= (SELECT max(version) FROM document WHERE channel_id = NEW.channel_id AND name = 'prefetch')
    OR NEW.version < (SELECT least_next FROM document_counter
      WHERE channel_id = NEW.channel_id AND name = 'prefetch');
END;

CREATE TRIGGER candidate_prefetch_is_immutable BEFORE UPDATE ON candidate_prefetch
BEGIN SELECT RAISE(ABORT, 'a version of a document never changes'); END;

-- Each of these configs with the newest candidate that it went along with, and what became of it.
CREATE VIEW candidate_prefetch_state AS
SELECT p.channel_id, p.version, p.at, p.author, p.message, p.content, coalesce(r.version, 0) AS candidate,
  CASE WHEN r.state IS NULL THEN 'ended'
    WHEN r.state = 'completed' OR EXISTS (SELECT 1 FROM candidate_prefetch AS n
        WHERE n.channel_id = p.channel_id AND n.seed = p.seed AND n.version > p.version)
      OR r.state = 'open' AND p.version < (SELECT max(d.version) FROM document AS d
        WHERE d.channel_id = p.channel_id AND d.name = 'prefetch') THEN 'superseded'
    ELSE r.state END AS state
FROM candidate_prefetch AS p LEFT JOIN rollout AS r ON r.channel_id = p.channel_id
  AND r.version = (SELECT max(m.version) FROM rollout AS m WHERE m.channel_id = p.channel_id AND m.seed = p.seed);

-- Each rollout with the config that goes, or went, along with its candidate. That of an open one counts until the channel gets a
-- newer config, and that of a completed one is the channel's: what is left here was replaced before.
CREATE VIEW rollout_with_prefetch AS
SELECT r.*, (
  SELECT max(p.version) FROM candidate_prefetch AS p
  WHERE p.channel_id = r.channel_id AND p.seed = r.seed AND CASE r.state
    WHEN 'open' THEN p.version > coalesce((SELECT max(d.version) FROM document AS d
      WHERE d.channel_id = r.channel_id AND d.name = 'prefetch'), 0)
    ELSE r.state <> 'completed' END) AS prefetch
FROM rollout AS r;
