-- However many messages wait for a receiver, an act and an attempt read a few rows of them.

ALTER TABLE webhook ADD COLUMN waiting INTEGER NOT NULL DEFAULT 0 CHECK (waiting >= 0);
UPDATE webhook SET waiting = (
  SELECT count(*) FROM webhook_delivery WHERE webhook_id = webhook.id AND state = 'waiting');

CREATE TRIGGER webhook_delivery_waits AFTER INSERT ON webhook_delivery WHEN NEW.state = 'waiting' BEGIN
  UPDATE webhook SET waiting = waiting + 1 WHERE id = NEW.webhook_id;
END;
CREATE TRIGGER webhook_delivery_ends AFTER UPDATE OF state ON webhook_delivery
WHEN OLD.state = 'waiting' AND NEW.state <> 'waiting' BEGIN
  UPDATE webhook SET waiting = waiting - 1 WHERE id = NEW.webhook_id;
END;
CREATE TRIGGER webhook_delivery_goes AFTER DELETE ON webhook_delivery WHEN OLD.state = 'waiting' BEGIN
  UPDATE webhook SET waiting = waiting - 1 WHERE id = OLD.webhook_id;
END;

-- The certificates (PEM) that its server's may come from; NULL: the system's.
ALTER TABLE webhook ADD COLUMN authorities TEXT CHECK (length(authorities) BETWEEN 1 AND 65536);

CREATE INDEX webhook_delivery_oldest ON webhook_delivery (webhook_id, id) WHERE state = 'waiting';
CREATE INDEX webhook_delivery_over ON webhook_delivery (webhook_id, id) WHERE state <> 'waiting';
CREATE INDEX webhook_delivery_tried ON webhook_delivery (webhook_id, tried_at, id) WHERE tried_at IS NOT NULL;
