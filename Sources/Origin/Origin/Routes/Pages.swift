import CAssets
import Compression
import HTTP
import Manifests
import System

/// The web pages embedded in the binary: `public/console/` as `/console/`, and `public/index.html` as `/`.
struct Pages: Sendable {
  private let pages: [(path: [UInt8], document: CodedDocument)]

  /// All pages, compressed once per process.
  static let embedded = Pages()

  private init() {
    pages = (0..<xcache_page_count()).map { index in
      let asset = xcache_page(index)
      let name = String(cString: asset.name)
      // A folder's index is served at the folder's path.
      let path = "/" + (name.hasSuffix("index.html") ? name.dropLast("index.html".utf8.count) : name[...])
      return (
        Array(path.utf8),
        Self.document(of: Array(UnsafeBufferPointer(start: asset.bytes, count: asset.size)), name)
      )
    }
  }

  private init(_ pages: [(path: [UInt8], document: CodedDocument)]) { self.pages = pages }

  /// Returns the same pages, which may frame what is served at some origins: `source` of a Content-Security-Policy.
  func framing(_ source: String) -> Pages {
    let policy = "\(Self.policy); frame-src \(source)"
    return Pages(
      pages.map { page in
        let document = page.document.with { fields in
          fields.without("content-security-policy").adding("Content-Security-Policy", policy)
        }
        return (page.path, document)
      })
  }

  /// Returns the page at a path, or nil.
  func page(at path: RawSpan) -> CodedDocument? {
    for page in pages where path.equals(page.path) { return page.document }
    return nil
  }

  var paths: [String] { pages.map { String(decoding: $0.path, as: UTF8.self) } }

  /// The console shows text written by publishers while it holds a token. Only its own files may run or style it, it talks
  /// to its origin alone, no page may frame it, and no text becomes markup: scripts that try to make some fail
  /// (`trusted-types 'none'`). Published images are shown from memory: as images, nothing in them runs.
  private static let policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src blob:; base-uri 'none'; form-action 'none'; "
    + "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

  private static func document(of bytes: [UInt8], _ name: String) -> CodedDocument {
    func coded(_ body: [UInt8], _ coding: BodyCoding) -> Representation {
      representation(of: body, name, coding: coding)
    }
    return .file(
      identity: coded(bytes, .identity), gzip: coded(Gzip.encode([bytes], level: 9), .gzip),
      zstd: coded(Zstd.encode([bytes], level: 19), .zstd))
  }

  private static func representation(of bytes: [UInt8], _ name: String, coding: BodyCoding) -> Representation
  {
    var fields = HeadFields([
      ("Content-Type", ContentType.of(fileName: name).text), ("Cache-Control", "no-cache"),
      ("Content-Security-Policy", policy), ("X-Content-Type-Options", "nosniff"),
      ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Opener-Policy", "same-origin"),
      ("Cross-Origin-Resource-Policy", "same-origin"), ("Vary", "Accept-Encoding"),
    ])
    if coding != .identity { fields.add("Content-Encoding", "\(coding.name)") }
    let tag = EntityTag(String(SHA256.of(bytes).hex.prefix(32)))
    return Representation(fields, tag: tag, body: .bytes(SharedBytes(bytes)), allowsRanges: false)
  }
}
