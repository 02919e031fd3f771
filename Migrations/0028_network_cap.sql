-- How much one network counts in the evidence of a rollout, at most, of 10,000: for fleets that are in few networks.
ALTER TABLE rollout_plan ADD COLUMN network_cap INTEGER NOT NULL DEFAULT 500 CHECK (network_cap BETWEEN 1 AND 10000);
