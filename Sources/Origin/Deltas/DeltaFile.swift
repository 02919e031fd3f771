import Compression
import Manifests
import Platform

/// A resource as far as deltas are concerned: its bytes, and the URL that says what it is called.
struct DeltaFile: Sendable {
  let sha256: SHA256
  let size: Int
  let ctype: ContentType
  let name: StableName

  init(_ url: ResourceURL, _ content: ResourceContent) {
    sha256 = content.sha256
    size = Int(clamping: content.size)
    ctype = content.ctype
    name = StableName(path: url.withoutQuery)
  }

  /// Each content once, those that can have deltas or be a base of one.
  static func each(_ contents: [(url: ResourceURL, content: ResourceContent)]) -> [DeltaFile] {
    var seen: Set<SHA256> = []
    return contents.compactMap { url, content in
      let isFit = content.size > 0 && content.size <= Int64(DeltaTrial.largestFile)
      return isFit && seen.insert(content.sha256).inserted ? DeltaFile(url, content) : nil
    }
  }

  var cut: Sketch.Cut { Self.isText(ctype) ? .tokens : .chunks }

  private static func isText(_ type: ContentType) -> Bool {
    let essence = type.essence
    return essence.hasPrefix("text/") || essence.hasSuffix("json") || essence.hasSuffix("xml")
      || essence.hasSuffix("javascript")
  }
}

extension Sketch.Cut {
  /// How it is called in `derived.db`.
  var number: Int {
    switch self {
    case .tokens: 1
    case .chunks: 2
    }
  }
}
