/// A rule that the rows of a database satisfy, as a query that returns a text for each violation.
///
/// Most rules are constraints or triggers, too, but a check-up trusts neither.
struct Invariant: Sendable {
  let code: String
  /// What a violation means; the text of the violation is appended to it.
  let message: String
  let breaches: StaticString

  static let all: [Invariant] = entries + counters + rollouts + teams + samples

  private static let samples: [Invariant] = [
    Invariant(
      code: "unwanted-samples",
      message:
        "error samples are kept of a channel that has them off; 'xcache channel set --samples off' forgets them",
      breaches: """
        SELECT 'channel ' || c.name || ': ' || count(*) FROM error_sample AS s JOIN channel AS c ON c.id = s.channel_id
        WHERE c.samples = 0 GROUP BY c.id LIMIT 5
        """)
  ]

  private static let teams: [Invariant] = [
    Invariant(
      code: "endless-session",
      message: "a session or a job has no end, so nobody has to sign in anew; revoke it",
      breaches: "SELECT id || ' of ' || name FROM token WHERE kind <> 'token' AND expires_at IS NULL LIMIT 5"),
    Invariant(
      code: "own-approval", message: "a scheduled act was approved by whoever asked for it",
      breaches: """
        SELECT 'act ' || p.act_id || ' by ' || p.name FROM approval AS p
        JOIN scheduled_act AS s ON s.id = p.act_id
        WHERE p.approver IS s.author_key LIMIT 5
        """),
  ]

  private static let rollouts: [Invariant] = [
    Invariant(
      code: "rollout-versions",
      message: "an open rollout's candidate isn't the newest version, or its full version isn't kept",
      breaches: """
        SELECT 'version ' || o.version FROM rollout AS o
        WHERE o.state = 'open' AND (
          o.version <> (SELECT max(version) FROM release WHERE channel_id = o.channel_id)
          OR NOT EXISTS (SELECT 1 FROM release WHERE channel_id = o.channel_id AND version = o.full_version)) LIMIT 5
        """)
  ]

  private static let entries: [Invariant] = [
    Invariant(
      code: "entry-overlap", message: "a bundle holds a URL twice in one version",
      breaches: """
        SELECT u.text FROM entry AS a
        JOIN entry AS b ON b.url_id = a.url_id AND b.bundle_id = a.bundle_id AND b.since > a.since
        JOIN url AS u ON u.id = a.url_id
        WHERE a.until IS NULL OR a.until > b.since LIMIT 5
        """),
    Invariant(
      code: "entry-disagreement",
      message:
        "two bundles hold a URL with other bytes, another type, other headers or other fallbacks, or lazy in only one",
      breaches: """
        SELECT u.text FROM entry AS a
        JOIN entry AS b ON b.url_id = a.url_id AND b.bundle_id > a.bundle_id AND b.resource_id <> a.resource_id
        JOIN url AS u ON u.id = a.url_id
        WHERE (a.until IS NULL OR a.until > b.since) AND (b.until IS NULL OR b.until > a.since) LIMIT 5
        """),
    Invariant(
      code: "entry-channel",
      message: "an entry is about the URL of another channel, or another URL's resource",
      breaches: """
        SELECT u.text FROM entry AS e
        JOIN url AS u ON u.id = e.url_id
        JOIN bundle AS b ON b.id = e.bundle_id
        JOIN resource AS r ON r.id = e.resource_id
        WHERE b.channel_id <> u.channel_id OR r.url_id <> e.url_id LIMIT 5
        """),
    Invariant(
      code: "entry-future", message: "an entry begins or ends in a version that is not made yet",
      breaches: """
        SELECT u.text FROM entry AS e
        JOIN url AS u ON u.id = e.url_id
        WHERE max(e.since, coalesce(e.until, 0))
          > (SELECT coalesce(max(version), 0) FROM release WHERE channel_id = u.channel_id) LIMIT 5
        """),
    Invariant(
      code: "url-match", message: "two live URLs of a channel match each other",
      breaches: """
        SELECT min(u.text) || ' and ' || max(u.text) FROM url AS u
        WHERE EXISTS (SELECT 1 FROM entry AS e WHERE e.url_id = u.id AND e.until IS NULL)
        GROUP BY u.channel_id, coalesce(u.match_key, u.text) HAVING count(*) > 1 LIMIT 5
        """),
    Invariant(
      code: "resource-version", message: "a resource has a version that its URL never gave",
      breaches: """
        SELECT u.text FROM resource AS r JOIN url AS u ON u.id = r.url_id
        WHERE r.version > u.versions LIMIT 5
        """),
    Invariant(
      code: "resource-future", message: "a resource was brought in by a version that is not made yet",
      breaches: """
        SELECT u.text FROM resource AS r JOIN url AS u ON u.id = r.url_id
        WHERE r.brought_in > (SELECT coalesce(max(version), 0) FROM release WHERE channel_id = u.channel_id)
        LIMIT 5
        """),
    Invariant(
      code: "blob-missing",
      message: "a live URL's bytes were found damaged and set aside; publish them again",
      breaches: """
        SELECT DISTINCT u.text FROM blob AS b
        JOIN resource AS r ON r.blob_id = b.id
        JOIN entry AS e ON e.resource_id = r.id AND e.until IS NULL
        JOIN url AS u ON u.id = e.url_id
        WHERE b.quarantined_at IS NOT NULL LIMIT 5
        """),
    Invariant(
      code: "blob-unchecked",
      message: "when a blob was last read back isn't known, so the scrub never reads it",
      breaches: """
        SELECT lower(hex(sha256)) FROM blob WHERE quarantined_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM blob_check WHERE blob_id = blob.id) LIMIT 5
        """),
    Invariant(
      code: "source-map-missing",
      message: "a source map's bytes were found damaged and set aside; publish with --source-maps again",
      breaches: """
        SELECT a.name || ' ' || c.name || ' ' || lower(hex(m.file)) FROM source_map AS m
        JOIN blob AS b ON b.id = m.blob_id
        JOIN channel AS c ON c.id = m.channel_id
        JOIN app AS a ON a.id = c.app_id
        WHERE b.quarantined_at IS NOT NULL LIMIT 5
        """),
    Invariant(
      code: "purged", message: "bytes that were purged are stored; purge them once more",
      breaches: "SELECT lower(hex(sha256)) FROM purge WHERE sha256 IN (SELECT sha256 FROM blob) LIMIT 5"),
  ]

  private static let counters: [Invariant] = [
    Invariant(
      code: "release-time", message: "a release is older than the one before it",
      breaches: """
        SELECT 'version ' || version FROM (
          SELECT version, at, lag(at) OVER (PARTITION BY channel_id ORDER BY version) AS before FROM release)
        WHERE at < before LIMIT 5
        """),
    Invariant(
      code: "release-total", message: "the newest release counts other resources or bytes than are live",
      breaches: """
        SELECT a.name || ' ' || c.name || ' version ' || r.version
        FROM release AS r JOIN channel AS c ON c.id = r.channel_id JOIN app AS a ON a.id = c.app_id
        JOIN (SELECT x.channel_id, max(x.version) AS version FROM release AS x GROUP BY x.channel_id) AS newest
          ON newest.channel_id = r.channel_id AND newest.version = r.version
        WHERE (r.resources, r.bytes) IS NOT (
          SELECT count(*), coalesce(sum(b.size), 0) FROM url AS u
          JOIN resource AS k ON k.id =
            (SELECT resource_id FROM entry WHERE url_id = u.id AND until IS NULL LIMIT 1)
          JOIN blob AS b ON b.id = k.blob_id
          WHERE u.channel_id = r.channel_id) LIMIT 5
        """),
    Invariant(
      code: "bundle-total", message: "a bundle counts other resources or bytes than it holds",
      breaches: """
        SELECT n.name FROM bundle AS n
        WHERE (n.resources, n.bytes) IS NOT (
          SELECT count(*), coalesce(sum(b.size), 0) FROM entry AS e
          JOIN resource AS r ON r.id = e.resource_id
          JOIN blob AS b ON b.id = r.blob_id
          WHERE e.bundle_id = n.id AND e.until IS NULL) LIMIT 5
        """),
    Invariant(
      code: "bundle-future", message: "a bundle changed in a version that is not made yet",
      breaches: """
        SELECT n.name FROM bundle AS n
        WHERE n.version > (SELECT coalesce(max(version), 0) FROM release WHERE channel_id = n.channel_id) LIMIT 5
        """),
  ]
}
