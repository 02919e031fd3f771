import Manifests
import Store
import System
import Trust
import Values

/// What the documents of a channel with a root have of signatures.
///
/// The head is signed anew each day, although nothing else has changed. Only `head.json` is written then: the other documents keep
/// the head that they were written with, which says the same, until they have to be written again.
struct PlannedTrust: Sendable {
  /// The number of the newest root.
  let root: Int64
  /// `head.json`; nil if there is none.
  let head: [UInt8]?
  /// The head in answers, which is as old as they are; nil if there is none.
  let answers: [UInt8]?
  /// The SHA-256 of the statements of each version that has any.
  let statements: [ManifestVersion: SHA256]
  /// Documents whose statements may be replaced, though their versions stay.
  let made: [MirrorDocument: [UInt8]]

  /// The roots from the first to the newest one.
  var roots: [Int64] { Array(1...max(1, root)) }

  /// Returns nil for a channel without a root.
  ///
  /// - Parameter known: what the documents of the last run have; nil if that isn't known.
  init?(_ state: MirroredChannelState, _ source: any MirrorSource, after known: MirrorIndex.Trust?)
    throws(MirrorError)
  {
    guard let root = state.extras.root else { return nil }
    self.root = root
    head = state.head
    answers = Self.answers(state.head, root, after: known)
    var statements: [ManifestVersion: SHA256] = [:]
    for version in state.versions + [state.candidate].compactMap(\.self) {
      guard let since = state.bundlesSince, version >= since,
        let bytes = try source.ifPresent(.statements(version), of: state)
      else { continue }
      statements[version] = SHA256.of(bytes)
    }
    self.statements = statements
    var made: [MirrorDocument: [UInt8]] = [:]
    let prefetch = MirrorDocument.prefetch(state.extras.prefetch ?? 0)
    let candidate = state.extras.rollout?.prefetch.map { MirrorDocument.candidatePrefetch($0) }
    for document in [prefetch, candidate].compactMap(\.self) {
      made[document] = try source.document(document, of: state)
    }
    self.made = made
  }

  /// Returns the head for answers: that of the last run, if it says the same and was made under the same root.
  private static func answers(_ head: [UInt8]?, _ root: Int64, after known: MirrorIndex.Trust?) -> [UInt8]? {
    guard let known, known.root == root, let before = known.head, let head,
      let old = try? Signed<TrustHead>(parsing: before), let new = try? Signed<TrustHead>(parsing: head),
      old.document.says(new.document)
    else { return head }
    return before
  }

  /// Everything of it that files are made from.
  var facts: JSONValue {
    func digest(_ bytes: [UInt8]?) -> JSONValue { bytes.map { .string(SHA256.of($0).hex) } ?? .null }
    let documents = made.sorted { $0.key.path < $1.key.path }.map { SHA256.of($0.value).hex }
    return [
      "answers": digest(answers), "documents": .strings(documents), "head": digest(head),
      "root": .integer(root),
      "statements": .object(
        JSONObject(statements.map { JSONObject.Member(key: $0.key.text, value: .string($0.value.hex)) })),
    ]
  }

  /// What `mirror.json` records of it.
  var index: MirrorIndex.Trust { MirrorIndex.Trust(root: root, head: answers, statements: statements) }

  /// Returns a patch or an update with the head in its member `trust`.
  func withHead(_ bytes: [UInt8], of document: MirrorDocument) throws(MirrorError) -> [UInt8] {
    do throws(JSONError) {
      guard let trust = try ConfigureAnswer.parse(bytes).trust, let version = document.end else {
        return bytes
      }
      let tail = Array(",\"update\":true,\"version\":\"\(version)\"}}".utf8)
      let end = bytes.count - tail.count
      let start = end - trust.count
      guard start > 0, bytes[end...].elementsEqual(tail), bytes[start..<end].elementsEqual(trust) else {
        throw .member("trust")
      }
      return bytes[..<start] + (try MirroredTrust(trust).bytes(head: answers)) + tail
    } catch {
      throw .unreadable(path: document.path, reason: error.description)
    }
  }
}

extension MirrorDocument {
  /// The version that a patch or an update leads to.
  fileprivate var end: ManifestVersion? {
    switch self {
    case .patch(_, let version), .update(_, let version): version
    default: nil
    }
  }
}

extension TrustHead {
  /// Whether it says the same as another one, but for the time.
  func says(_ other: TrustHead) -> Bool {
    app == other.app && environment == other.environment && channel == other.channel
      && version == other.version && digest == other.digest && candidate == other.candidate
      && policy == other.policy && prefetch == other.prefetch
  }
}

extension MirrorSource {
  /// Returns a document; nil if the origin doesn't have it.
  func ifPresent(_ document: MirrorDocument, of channel: MirroredChannelState) throws(MirrorError) -> [UInt8]?
  {
    do throws(MirrorError) {
      return try self.document(document, of: channel)
    } catch {
      guard error.isAbsence else { throw error }
      return nil
    }
  }

  /// Returns channels with their heads. What is asked for one after another may be changed in between: a head that names another
  /// version than its channel has would keep devices from both.
  func withHeads(_ channels: () throws(MirrorError) -> [MirroredChannelState]) throws(MirrorError)
    -> [MirroredChannelState]
  {
    // An origin without a key for heads goes on with an old one.
    for isLast in [false, false, true] {
      var states = try channels()
      var agrees = true
      for index in states.indices where states[index].extras.root != nil {
        states[index].head = try ifPresent(.head, of: states[index])
        agrees = agrees && states[index].agreesWithHead
      }
      if agrees || isLast { return states }
    }
    return []
  }
}

extension MirroredChannelState {
  /// Whether the head names what the channel has; also if there is none that can be read.
  fileprivate var agreesWithHead: Bool {
    guard let head, let named = try? Signed<TrustHead>(parsing: head).document else { return true }
    return named.version == version && named.digest == digest && named.policy == extras.policy ?? 0
      && named.prefetch == extras.prefetch ?? 0 && named.candidate?.rule == extras.rollout
      && named.candidate?.digest == candidateDigest
  }
}
