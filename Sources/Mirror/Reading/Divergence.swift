import Manifests

/// Something in a mirror that isn't as it should be.
package struct Divergence: Hashable, Sendable, CustomStringConvertible {
  /// Whether a copy with it can be relied on.
  package enum Severity: String, Hashable, Sendable {
    case error, warning
  }

  /// What is other than it should be.
  package enum Kind: Hashable, Sendable {
    case missing
    case size(Int64, expected: Int64)
    case bytes
    /// The disk doesn't give the file's bytes.
    case unreadable(String)
    /// The host answers with this status in place of the file.
    case refused(Int)
    /// The host says another type than the manifest.
    case type(String, expected: String)
    /// A manifest names a file that `mirror.json` doesn't list, or lists with other bytes.
    case unlisted(download: String)
    /// A manifest's download isn't below its public URL, so no mirror can have it.
    case outside(download: String)
    /// A document isn't what its name says.
    case document(String)
    /// The origin has a channel that the copy doesn't.
    case notMirrored(MirroredChannel)
    /// The copy is of another origin than the one that was asked.
    case otherOrigin
    /// A run that was about a channel was ended half-way, and none has been about it since.
    case unfinished(MirroredChannel)
    /// The origin could not be asked what the copy may lack.
    case unasked(String)
    /// The last run is too long ago: how long, and what was allowed, in seconds.
    case old(Int64, allowed: Int64)
  }

  /// From the mirror's root.
  package let path: String
  package let kind: Kind
  package var severity: Severity = .error

  package var description: String { "\(severity.rawValue): \(path): \(message)" }

  package var message: String {
    switch kind {
    case .missing: "it is missing"
    case .size(let size, let expected): "it has \(size) bytes, not \(expected)"
    case .bytes: "its content doesn't match mirror.json"
    case .unreadable(let reason): "it can't be read: \(reason)"
    case .refused(let status): "the host answers \(status)"
    case .type(let type, let expected): "it is served as \(type), not as \(expected)"
    case .unlisted(let download): "it names \(download), which mirror.json doesn't list with these bytes"
    case .outside(let download): "it names \(download), which is not a download below a public URL"
    case .document(let reason): reason
    case .notMirrored(let channel):
      "the origin has channel \(channel.channel) of app \(channel.app), and the copy doesn't"
    case .otherOrigin: "it is a copy of another origin, not of the one that was asked"
    case .unfinished(let channel):
      "a run was ended before it was done with channel \(channel.channel) of app \(channel.app); the next run that "
        + "includes it completes it"
    case .unasked(let reason):
      "the origin could not be asked what it has (\(reason)), so missing channels can't be detected"
    case .old(let age, let allowed): "the last run was \(age) s ago (limit: \(allowed) s)"
    }
  }

  /// What to do about it; the same words for all that one act puts right.
  package var advice: String {
    switch kind {
    case .missing, .size, .bytes, .unreadable, .unlisted, .outside, .document:
      "`xcache mirror --repair` rewrites such files"
    case .refused:
      "check why the host refuses such files; `xcache mirror` into the host's folder makes them readable for all"
    case .type: "make the host send the types in the manifests"
    case .notMirrored:
      "run `xcache mirror` without --channel and --app to add the missing channels"
    case .otherOrigin:
      "give verify the copy's own origin, or remove the copy's mirror.json and run xcache mirror to take it over"
    case .unfinished:
      "run `xcache mirror` without --channel and --app to complete the unfinished channels"
    case .unasked: "verify again when the origin answers"
    case .old: "run `xcache mirror`, and check the job that should run it"
    }
  }

  package var json: JSONValue {
    ["path": .string(path), "severity": .string(severity.rawValue), "what": .string(message)]
  }
}
