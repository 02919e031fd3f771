import Manifests
import System

// The records that the origin keeps and the API tells, as JSON. Written by hand, since only the module that declares a type can have
// the coding derived, and devices have that module, too.

extension ReleaseStamp: Codable {
  private enum Key: CodingKey { case at, author, version }

  package init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Key.self)
    self.init(
      version: try members.value(.version), author: try members.value(.author), at: try members.value(.at))
  }

  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: Key.self)
    try members.encode(version, forKey: .version)
    try members.encode(author, forKey: .author)
    try members.encode(at, forKey: .at)
  }
}

/// `counts` means the same wherever it appears. The three numbers beside it repeat its values under names of which `changed` is a
/// Boolean elsewhere; they stay for two minor versions.
extension ChangeCounts: Codable {
  private enum Key: CodingKey { case added, changed, removed }

  package init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Key.self)
    self.init(
      added: try members.value(.added), changed: try members.value(.changed),
      removed: try members.value(.removed))
  }

  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: Key.self)
    try members.encode(added, forKey: .added)
    try members.encode(changed, forKey: .changed)
    try members.encode(removed, forKey: .removed)
  }
}

extension ReleaseDetails.Source: Codable {
  private enum Key: CodingKey { case bundle, channel, version }

  package init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Key.self)
    self.init(
      channel: try members.value(.channel), version: try members.value(.version),
      bundle: try members.valueIfPresent(.bundle))
  }

  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: Key.self)
    try members.encode(channel, forKey: .channel)
    try members.encode(version, forKey: .version)
    // Null for the whole channel.
    try members.encode(bundle, forKey: .bundle)
  }
}

extension ReleaseDetails.EmergencyOverride: Codable {
  private enum Key: CodingKey { case frozenBy, reason }

  package init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Key.self)
    self.init(reason: try members.value(.reason), frozenBy: try members.value(.frozenBy))
  }

  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: Key.self)
    try members.encode(reason, forKey: .reason)
    try members.encode(frozenBy, forKey: .frozenBy)
  }
}

extension PrefetchOutcome: Codable {
  private enum Key: CodingKey { case changed, kept, source, version }

  package init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Key.self)
    self.init(
      changed: try members.value(.changed), version: try members.value(.version),
      source: try members.value(.source), isKept: try members.value(.kept))
  }

  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: Key.self)
    try members.encode(changed, forKey: .changed)
    try members.encode(isKept, forKey: .kept)
    try members.encode(source, forKey: .source)
    try members.encode(version, forKey: .version)
  }
}

extension ChannelVersion: Codable {
  private enum Key: CodingKey { case app, channel, version }

  package init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Key.self)
    self.init(
      app: try members.value(.app), channel: try members.value(.channel),
      version: try members.value(.version))
  }

  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: Key.self)
    try members.encode(app, forKey: .app)
    try members.encode(channel, forKey: .channel)
    try members.encode(version, forKey: .version)
  }
}

extension Pin: Codable {
  private enum Key: CodingKey { case at, author, reason, version }

  package init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Key.self)
    self.init(
      version: try members.value(.version), author: try members.value(.author),
      reason: try members.value(.reason), at: try members.value(.at))
  }

  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: Key.self)
    try members.encode(at, forKey: .at)
    try members.encode(author, forKey: .author)
    try members.encode(reason, forKey: .reason)
    try members.encode(version, forKey: .version)
  }
}

extension ChannelFreeze: Codable {
  private enum Key: CodingKey { case at, author, from, id, reason, to }

  /// The three members of a freeze by calendar are beside the others.
  package init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Key.self)
    var calendar: Calendar?
    if let id: Int64 = try members.valueIfPresent(.id), let from: Moment = try members.valueIfPresent(.from) {
      calendar = Calendar(id: id, from: from, to: try members.valueIfPresent(.to))
    }
    self.init(
      author: try members.value(.author), at: try members.value(.at), reason: try members.value(.reason),
      calendar: calendar)
  }

  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: Key.self)
    try members.encode(author, forKey: .author)
    try members.encode(at, forKey: .at)
    try members.encode(reason, forKey: .reason)
    try members.encodeIfPresent(calendar?.id, forKey: .id)
    try members.encodeIfPresent(calendar?.from, forKey: .from)
    try members.encodeIfPresent(calendar?.to, forKey: .to)
  }
}

extension ChannelOverview.DeltaProgress: Codable {
  private enum Key: CodingKey { case failing, fault, files, filesDone, makesFirstPack, pending, version }

  package init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Key.self)
    self.init(
      version: try members.value(.version), pending: try members.valueIfPresent(.pending),
      filesDone: try members.value(.filesDone), files: try members.value(.files),
      // An older origin doesn't tell.
      failing: try members.valueIfPresent(.failing) ?? 0, fault: try members.valueIfPresent(.fault))
    makesFirstPack = try members.valueIfPresent(.makesFirstPack)
  }

  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: Key.self)
    try members.encode(version, forKey: .version)
    try members.encode(pending, forKey: .pending)
    try members.encode(filesDone, forKey: .filesDone)
    try members.encode(files, forKey: .files)
    try members.encode(failing, forKey: .failing)
    try members.encode(fault, forKey: .fault)
    try members.encodeIfPresent(makesFirstPack, forKey: .makesFirstPack)
  }
}

extension DiskUse: Codable {
  private enum Key: CodingKey { case at, available, size, stored }

  package init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Key.self)
    self.init(
      at: try members.value(.at), size: try members.value(.size), available: try members.value(.available),
      stored: try members.value(.stored))
  }

  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: Key.self)
    try members.encode(at, forKey: .at)
    try members.encode(size, forKey: .size)
    try members.encode(available, forKey: .available)
    try members.encode(stored, forKey: .stored)
  }
}

extension FileTotal: Codable {
  private enum Key: CodingKey { case bytes, files }

  package init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Key.self)
    self.init(count: try members.value(.files), bytes: try members.value(.bytes))
  }

  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: Key.self)
    try members.encode(count, forKey: .files)
    try members.encode(bytes, forKey: .bytes)
  }
}

extension Purge: Codable {
  private enum Key: CodingKey { case at, author, reason, sha256, urls }

  package init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Key.self)
    self.init(
      sha256: try members.value(.sha256), at: try members.value(.at), author: try members.value(.author),
      reason: try members.value(.reason), urls: try members.valueIfPresent(.urls))
  }

  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: Key.self)
    try members.encode(sha256, forKey: .sha256)
    try members.encode(at, forKey: .at)
    try members.encode(author, forKey: .author)
    try members.encode(reason, forKey: .reason)
    try members.encodeIfPresent(urls, forKey: .urls)
  }
}

extension PurgedBytes: Codable {
  private enum Key: CodingKey { case at, sha256 }

  package init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Key.self)
    self.init(sha256: try members.value(.sha256), at: try members.value(.at))
  }

  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: Key.self)
    try members.encode(sha256, forKey: .sha256)
    try members.encode(at, forKey: .at)
  }
}

extension KeyedDecodingContainer {
  fileprivate func value<Value: Decodable>(_ key: Key) throws -> Value { try decode(Value.self, forKey: key) }

  fileprivate func valueIfPresent<Value: Decodable>(_ key: Key) throws -> Value? {
    try decodeIfPresent(Value.self, forKey: key)
  }
}
