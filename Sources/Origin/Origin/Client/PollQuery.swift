import HTTP

/// What a device sends in its query for configure.json (docs/protocol.md §2).
///
/// Names and digest are stored inline, so that parsing allocates nothing. The first of repeated keys counts; unknown keys
/// are ignored.
struct PollQuery: Sendable {
  private(set) var app: Name = .absent
  private(set) var channel: Name = .absent
  private(set) var version: Version = .absent
  private(set) var digest: Name = .absent
  /// Whether the device understands patches.
  private(set) var acceptsPatch = false
  /// Whether the device understands packs.
  private(set) var acceptsPack = false
  /// Whether it also understands packs that leave lazy files out.
  private(set) var knowsLazy = false
  /// Whether the device follows the candidate of a rollout, if one is open.
  private(set) var wantsCandidate = false
  /// Whether this is `xcache preview`: no device, so it isn't counted as a poll.
  private(set) var isPreview = false
  /// The version that the device went back from and doesn't take again; 0 for none.
  private(set) var skipped: Int64 = 0

  enum Name: Sendable {
    case absent
    case text(ShortText)
    /// Over 64 bytes, which no name or digest has.
    case tooLong

    /// The text as sent, for messages.
    var text: String? {
      switch self {
      case .absent: nil
      case .text(let text): text.bytes.text
      case .tooLong: "…"
      }
    }

    fileprivate init(_ value: RawSpan) {
      self = value.formDecoded.map(Name.text) ?? .tooLong
    }
  }

  enum Version: Sendable {
    case absent
    case number(Int64)
    /// Anything but a decimal number; no release has it.
    case unknown
  }

  init(_ query: RawSpan) {
    var items = QueryItems(query)
    while let item = items.next() {
      if item.name.equals("version") {
        if case .absent = version { version = Self.version(item.value) }
      } else if item.name.equals("app") {
        if case .absent = app { app = Name(item.value) }
      } else if item.name.equals("channel") {
        if case .absent = channel { channel = Name(item.value) }
      } else if item.name.equals("digest") {
        if case .absent = digest { digest = Name(item.value) }
      } else if item.name.equals("patch") {
        acceptsPatch = acceptsPatch || item.value.equals("1")
      } else if item.name.equals("pack") {
        acceptsPack = acceptsPack || item.value.equals("1")
      } else if item.name.equals("candidate") {
        wantsCandidate = wantsCandidate || item.value.equals("1")
      } else if item.name.equals("preview") {
        isPreview = isPreview || item.value.equals("1")
      } else if item.name.equals("skip") {
        if skipped == 0, case .number(let version) = Self.version(item.value) { skipped = version }
      } else if item.name.equals("lazy") {
        // Last: most devices hold no lazy entry, and don't send it.
        knowsLazy = knowsLazy || item.value.equals("1")
      }
    }
  }

  init() {}

  private static func version(_ value: RawSpan) -> Version {
    // "version=" means a device that has none yet.
    if value.byteCount == 0 { return .absent }
    guard let number = value.formDecodedDecimal.flatMap({ Int64(exactly: $0) }) else { return .unknown }
    return .number(number)
  }
}
