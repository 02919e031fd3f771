import Manifests

/// The body of the request that makes a release.
struct ReleaseRequest {
  enum Change {
    case publish(Plan)
    case unpublish(BundleName)
  }

  let changes: [Change]
  let options: ReleaseOptions

  /// As JSON; written piece by piece, since a first publish may name 100,000 URLs.
  var json: [UInt8] {
    var out = [UInt8(ascii: "{")]
    if let reason = options.breakGlass {
      out.append(contentsOf: "\"breakGlass\":".utf8)
      CanonicalJSON.append(string: reason, to: &out)
      out.append(UInt8(ascii: ","))
    }
    out.append(contentsOf: "\"bundles\":[".utf8)
    for (index, change) in changes.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      switch change {
      case .publish(let plan): ReleaseRequest.append(plan, to: &out)
      case .unpublish(let name):
        let json: JSONValue = ["bundle": .string(name.text), "unpublish": true]
        out.append(contentsOf: json.canonical)
      }
    }
    out.append(contentsOf: "],".utf8)
    // The rest of the object, without its opening brace.
    out.append(contentsOf: options.json.canonical.dropFirst())
    return out
  }

  private static func append(_ plan: Plan, to out: inout [UInt8]) {
    out.append(contentsOf: "{\"base\":\"\(plan.base)\",\"bundle\":\"\(plan.bundle)\",\"remove\":".utf8)
    CanonicalJSON.append(.strings(plan.remove), to: &out)
    out.append(contentsOf: ",\"set\":{".utf8)
    for (index, resource) in plan.put.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      CanonicalJSON.append(string: resource.url.text, to: &out)
      out.append(UInt8(ascii: ":"))
      CanonicalJSON.append(resource.content.json, to: &out)
    }
    out.append(contentsOf: "}}".utf8)
  }
}

/// What goes with any release.
package struct ReleaseOptions: Hashable, Sendable {
  package var message: String
  /// Visible at once, without waiting for deltas.
  package var now: Bool
  /// Everything but the release itself.
  package var dryRun: Bool
  /// Refused when a bundle changed after this version: a number, or the moment at which it was live.
  package var ifVersion: String?
  /// Refused when an update from the version it replaces costs a device more than this many bytes.
  package var maxUpdate: Int64?
  /// Returns when the deltas on older versions are made, too.
  package var waitsForDeltas = false
  /// Why it is released though the channel is frozen.
  package var breakGlass: String?

  package init(
    message: String = "", now: Bool = false, dryRun: Bool = false, ifVersion: String? = nil,
    breakGlass: String? = nil
  ) {
    self.breakGlass = breakGlass
    self.message = message
    self.now = now
    self.dryRun = dryRun
    self.ifVersion = ifVersion
  }

  fileprivate var json: JSONValue {
    [
      "dryRun": .bool(dryRun),
      "ifVersion": ifVersion.map { .string($0) } ?? .null,
      "message": .string(message), "now": .bool(now),
    ]
  }
}
