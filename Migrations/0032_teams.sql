-- People who signed in, CI jobs that traded their ID tokens, and acts that wait for approvals.

-- A wider scope: `release` decides over what was published. A CHECK can't be altered, so the column is replaced.
ALTER TABLE token ADD COLUMN wider_scope TEXT NOT NULL DEFAULT 'read'
  CHECK (wider_scope IN ('read', 'release', 'publish', 'admin'));
UPDATE token SET wider_scope = scope;
ALTER TABLE token DROP COLUMN scope;
ALTER TABLE token RENAME COLUMN wider_scope TO scope;

-- token: made by an admin. session: of a person who signed in. job: of a CI job that traded its ID token.
ALTER TABLE token ADD COLUMN kind TEXT NOT NULL DEFAULT 'token' CHECK (kind IN ('token', 'session', 'job'));
-- Who signed in, as the provider names them (OpenID Connect Core §2: iss, sub); NULL: a token.
ALTER TABLE token ADD COLUMN issuer TEXT
  CHECK ((issuer IS NULL) = (kind = 'token')) CHECK (length(issuer) BETWEEN 1 AND 1024);
ALTER TABLE token ADD COLUMN subject TEXT
  CHECK ((subject IS NULL) = (kind = 'token')) CHECK (length(subject) BETWEEN 1 AND 1024);
-- The run of a job, or the sort of a session: console or cli.
ALTER TABLE token ADD COLUMN detail TEXT
  CHECK (detail IS NULL OR kind <> 'token') CHECK (length(detail) BETWEEN 1 AND 256);
-- The name of the CI identity whose job it is.
ALTER TABLE token ADD COLUMN identity TEXT
  CHECK ((identity IS NULL) = (kind <> 'job')) CHECK (length(identity) BETWEEN 1 AND 64);
-- JSON, an array of further grants beside the one of scope, app, channel and bundles; NULL: none.
ALTER TABLE token ADD COLUMN grants TEXT CHECK (grants IS NULL OR kind = 'session') CHECK (grants GLOB '[[]*]');

-- One person has several sessions, and several persons may have one name.
DROP INDEX token_by_name;
CREATE UNIQUE INDEX token_by_name ON token (name) WHERE revoked_at IS NULL AND kind = 'token';
CREATE INDEX token_by_person ON token (issuer, subject) WHERE issuer IS NOT NULL;
CREATE INDEX token_by_end ON token (expires_at) WHERE kind <> 'token';

-- What people and jobs may do is worked out when they sign in, so it doesn't last.
CREATE TRIGGER token_of_person_ends BEFORE INSERT ON token WHEN NEW.kind <> 'token' AND NEW.expires_at IS NULL
BEGIN SELECT RAISE(ABORT, 'a session or a job has an end'); END;

CREATE TRIGGER token_holder_never_changes BEFORE UPDATE ON token
WHEN NEW.id <> OLD.id OR NEW.hash <> OLD.hash OR NEW.kind <> OLD.kind OR NEW.issuer IS NOT OLD.issuer
  OR NEW.subject IS NOT OLD.subject OR NEW.identity IS NOT OLD.identity
BEGIN SELECT RAISE(ABORT, 'a token never changes hands'); END;

-- CI jobs that may trade the ID token of their run. Rows stay when an identity is removed.
CREATE TABLE identity (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 64),
  issuer TEXT NOT NULL CHECK (length(issuer) BETWEEN 1 AND 1024),
  -- A pattern: * stands for any characters but : and /.
  subject TEXT NOT NULL CHECK (length(subject) BETWEEN 1 AND 1024),
  audience TEXT NOT NULL CHECK (length(audience) BETWEEN 1 AND 1024),
  -- What its jobs may do. Never admin: a job that could make tokens could keep its rights.
  scope TEXT NOT NULL CHECK (scope IN ('read', 'release', 'publish')),
  -- NULL: every app, every channel, every bundle, every host.
  app TEXT,
  channel TEXT,
  bundles TEXT CHECK (length(bundles) BETWEEN 1 AND 128),
  hosts TEXT CHECK (length(hosts) > 0),
  created_at INTEGER NOT NULL,
  removed_at INTEGER
) STRICT;

CREATE UNIQUE INDEX identity_by_name ON identity (name) WHERE removed_at IS NULL;

CREATE TRIGGER identity_only_ends BEFORE UPDATE ON identity
WHEN OLD.removed_at IS NOT NULL OR NEW.id <> OLD.id OR NEW.name <> OLD.name OR NEW.issuer <> OLD.issuer
  OR NEW.subject <> OLD.subject OR NEW.audience <> OLD.audience OR NEW.scope <> OLD.scope OR NEW.app IS NOT OLD.app
  OR NEW.channel IS NOT OLD.channel OR NEW.bundles IS NOT OLD.bundles OR NEW.hosts IS NOT OLD.hosts
BEGIN SELECT RAISE(ABORT, 'an identity is removed once, and never changes otherwise'); END;

-- ID tokens that were traded, each once. A row is dropped when the ID token has expired: then nobody takes it any more.
CREATE TABLE used_id_token (
  -- Of what is signed of it, its header and claims: of an ES256 signature there are two that hold.
  sha256 BLOB PRIMARY KEY CHECK (length(sha256) = 32),
  token_id TEXT NOT NULL REFERENCES token (id),
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX used_id_token_by_end ON used_id_token (expires_at);
CREATE INDEX used_id_token_by_token ON used_id_token (token_id);

-- How many people besides its author have to approve what changes a channel; NULL and 0: nobody.
ALTER TABLE channel ADD COLUMN approvals INTEGER CHECK (approvals BETWEEN 0 AND 9);
-- Whose approvals count: a pattern of names; NULL: everybody's who may decide over the channel's releases.
ALTER TABLE channel ADD COLUMN approvers TEXT CHECK (length(approvers) BETWEEN 1 AND 1024);
-- Steps of rollouts up to this share, of 10,000, don't wait.
ALTER TABLE channel ADD COLUMN approval_share INTEGER NOT NULL DEFAULT 0 CHECK (approval_share BETWEEN 0 AND 10000);

-- How many approvals the channel required when the act was asked for.
ALTER TABLE scheduled_act ADD COLUMN approvals INTEGER NOT NULL DEFAULT 0 CHECK (approvals BETWEEN 0 AND 9);
-- Whether an act of its kind waits for approvals where a channel requires some.
ALTER TABLE scheduled_act ADD COLUMN is_gated INTEGER NOT NULL DEFAULT 0 CHECK (is_gated IN (0, 1));
-- Who asked for it, so that they don't approve it themselves; NULL: it was asked for before approvals were known.
ALTER TABLE scheduled_act ADD COLUMN author_key TEXT CHECK (length(author_key) > 0);

UPDATE scheduled_act SET author_key = 'token:' || token_id WHERE state = 'waiting';
UPDATE scheduled_act SET is_gated = 1
WHERE state = 'waiting'
  AND act IN ('publish', 'unpublish', 'promote', 'rollout.set', 'rollout.resume', 'rollout.complete');

-- Who has approved an act. Rows go with their act, which is kept for a while after its end.
CREATE TABLE approval (
  act_id INTEGER NOT NULL REFERENCES scheduled_act ON DELETE CASCADE,
  -- As scheduled_act.author_key: one person has several sessions.
  approver TEXT NOT NULL CHECK (length(approver) > 0),
  token_id TEXT NOT NULL,
  name TEXT NOT NULL,
  message TEXT,
  at INTEGER NOT NULL,
  PRIMARY KEY (act_id, approver)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER approval_is_anothers BEFORE INSERT ON approval
WHEN NEW.approver IS (SELECT author_key FROM scheduled_act WHERE id = NEW.act_id)
BEGIN SELECT RAISE(ABORT, 'nobody approves their own act'); END;

CREATE TRIGGER approval_is_immutable BEFORE UPDATE ON approval
BEGIN SELECT RAISE(ABORT, 'an approval never changes'); END;

CREATE INDEX approval_by_token ON approval (token_id);
CREATE INDEX scheduled_act_by_token ON scheduled_act (token_id);
