import System
import Trust
import Values

/// Something in a mirror that isn't as it should be.
package struct Divergence: Hashable, Sendable, CustomStringConvertible {
  /// Whether a copy with it is still reliable.
  package enum Severity: String, Hashable, Sendable {
    case error, warning
  }

  /// What is wrong.
  package enum Kind: Hashable, Sendable {
    case missing
    case size(Int64, expected: Int64)
    case bytes
    /// The disk can't read the file's bytes.
    case unreadable(String)
    /// The host answers with this status instead of the file.
    case refused(Int)
    /// The host serves the file with another type than the manifest says.
    case type(String, expected: String)
    /// A manifest names a file that `mirror.json` doesn't list, or lists with other bytes.
    case unlisted(download: String)
    /// A download URL in a manifest isn't below the public URL, so no mirror can have it.
    case outside(download: String)
    /// A document isn't what its name promises.
    case document(String)
    /// The origin has a channel that the copy doesn't.
    case notMirrored(MirroredChannel)
    /// The origin purged the file's bytes, or what they were made of.
    case purged
    /// The copy belongs to another origin than the one asked.
    case otherOrigin
    /// A run of a channel was interrupted, and there has been none since.
    case unfinished(MirroredChannel)
    /// The origin couldn't be asked what the copy may lack.
    case unasked(String)
    /// Devices with a root refuse what the document has, and why it can't be read, if that is the cause.
    case trust(TrustFailure, String?)
    /// The document names no root, although its app has one.
    case noRoot
    /// The head said that devices would see a newer one until this time, in milliseconds since 1970.
    case staleHead(until: Int64)
    /// The last run was too long ago: how long, and the maximum, in seconds.
    case old(Int64, allowed: Int64)
  }

  /// The path from the mirror's root.
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
    case .purged: "the origin purged these bytes, and the copy still has them"
    case .otherOrigin: "it is a copy of another origin, not of the one that was asked"
    case .unfinished(let channel):
      "a run was ended before it was done with channel \(channel.channel) of app \(channel.app); the next run that "
        + "includes it completes it"
    case .unasked(let reason):
      "the origin could not be asked what it has (\(reason)), so missing channels can't be detected"
    case .trust(let failure, let reason):
      "devices refuse it (\(failure.rawValue)): \(failure.words)\(reason.map { "; \($0)" } ?? "")"
    case .noRoot: "it names no root, although the app has one, so devices take nothing new from this channel"
    case .staleHead(let until): "devices expected a newer head by \(Timestamp.text(until))"
    case .old(let age, let allowed): "the last run was \(age) s ago (limit: \(allowed) s)"
    }
  }

  /// What to do about it in the copy at a place; the same text for everything that one action fixes.
  package func advice(at place: String) -> String {
    // A copy is read at the address that devices use, and written where its job writes it.
    let place = place.hasPrefix("https://") || place.hasPrefix("http://") ? "DIR" : ShellWord.quoted(place)
    return switch kind {
    case .missing, .size, .bytes, .unreadable, .unlisted, .outside, .document:
      "`xcache mirror --repair --to \(place)` rewrites such files"
    case .refused:
      "check why the host refuses such files; `xcache mirror --to \(place)` into the host's folder makes them readable for all"
    case .type: "make the host send the types in the manifests"
    case .notMirrored:
      "run `xcache mirror --to \(place)` without --channel and --app to add the missing channels"
    case .purged:
      "run `xcache mirror --to \(place)`, which removes them, and purge the URL at the CDN in front of the copy"
    case .otherOrigin:
      "give verify the copy's own origin, or remove the copy's mirror.json and run xcache mirror to take it over"
    case .unfinished:
      "run `xcache mirror --to \(place)` without --channel and --app to complete the unfinished channels"
    case .unasked: "verify again when the origin answers"
    case .trust, .noRoot:
      "see `xcache trust status` for what isn't signed, then run `xcache mirror --to \(place)` with an xcache that knows roots"
    case .staleHead:
      "run `xcache mirror --to \(place)`; where the origin is gone, `xcache mirror --sign-head KEY --to \(place)`"
    case .old: "run `xcache mirror --to \(place)`, and check the job that should run it"
    }
  }

  package var json: JSONValue {
    ["path": .string(path), "severity": .string(severity.rawValue), "what": .string(message)]
  }
}
