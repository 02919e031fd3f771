-- Releases that wait for signatures: scheduled acts that nothing carries out until enough keys have signed what they bring.

-- What an act waits for before its time counts; NULL: nothing.
ALTER TABLE scheduled_act ADD COLUMN awaits TEXT CHECK (awaits IN ('signatures'));
-- Whether it is carried out although the channel is frozen then.
ALTER TABLE scheduled_act ADD COLUMN overrides_freezes INTEGER NOT NULL DEFAULT 0 CHECK (overrides_freezes IN (0, 1));

-- What is signed of each bundle, with the signatures so far.
CREATE TABLE scheduled_statement (
  act_id INTEGER NOT NULL REFERENCES scheduled_act ON DELETE CASCADE,
  bundle TEXT NOT NULL CHECK (length(bundle) BETWEEN 1 AND 128),
  envelope TEXT NOT NULL CHECK (length(envelope) BETWEEN 1 AND 98304),
  PRIMARY KEY (act_id, bundle)
) STRICT, WITHOUT ROWID;
