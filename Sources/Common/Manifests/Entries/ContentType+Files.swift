extension ContentType {
  /// Returns the type for a file's extension; `application/octet-stream` for an unknown one.
  package static func of(fileName: String) -> ContentType {
    guard let dot = fileName.utf8.lastIndex(of: UInt8(ascii: ".")) else { return unknown }
    let ending = fileName[fileName.utf8.index(after: dot)...].lowercased()
    return table[ending] ?? unknown
  }

  private static let table: [String: ContentType] = {
    var table: [String: ContentType] = [:]
    for (type, endings) in texts {
      for ending in endings.split(separator: " ") {
        table[String(ending)] = ContentType(known: type + ";charset=UTF-8")
      }
    }
    for (type, endings) in binaries {
      for ending in endings.split(separator: " ") { table[String(ending)] = ContentType(known: type) }
    }
    return table
  }()

  /// Text types, which get `;charset=UTF-8`.
  private static let texts: [(String, String)] = [
    ("application/javascript", "js mjs cjs"),
    ("application/json", "json map geojson topojson"),
    ("application/ld+json", "jsonld"),
    ("application/manifest+json", "webmanifest"),
    ("application/atom+xml", "atom"),
    ("application/rss+xml", "rss"),
    ("application/xhtml+xml", "xhtml xht"),
    ("application/xml", "xml xsl xsd"),
    ("application/yaml", "yaml yml"),
    ("image/svg+xml", "svg"),
    ("model/gltf+json", "gltf"),
    ("text/calendar", "ics"),
    ("text/css", "css"),
    ("text/csv", "csv"),
    ("text/html", "html htm shtml"),
    ("text/markdown", "md markdown"),
    ("text/plain", "txt text log license ini conf frag vert glsl"),
    ("text/tab-separated-values", "tsv"),
    ("text/vtt", "vtt"),
  ]

  private static let binaries: [(String, String)] = [
    ("application/gzip", "gz tgz"),
    ("application/octet-stream", "bin data"),
    ("application/pdf", "pdf"),
    ("application/vnd.apple.mpegurl", "m3u8"),
    ("application/vnd.ms-fontobject", "eot"),
    ("application/wasm", "wasm"),
    ("application/zip", "zip"),
    ("audio/aac", "aac"),
    ("audio/flac", "flac"),
    ("audio/mp4", "m4a"),
    ("audio/mpeg", "mp3"),
    ("audio/ogg", "ogg oga opus"),
    ("audio/wav", "wav"),
    ("font/collection", "ttc"),
    ("font/otf", "otf"),
    ("font/ttf", "ttf"),
    ("font/woff", "woff"),
    ("font/woff2", "woff2"),
    ("image/apng", "apng"),
    ("image/avif", "avif"),
    ("image/bmp", "bmp"),
    ("image/gif", "gif"),
    ("image/heic", "heic"),
    ("image/jpeg", "jpg jpeg jpe jfif"),
    ("image/jxl", "jxl"),
    ("image/png", "png"),
    ("image/tiff", "tif tiff"),
    ("image/webp", "webp"),
    ("image/x-icon", "ico cur"),
    ("model/gltf-binary", "glb"),
    ("video/mp2t", "ts"),
    ("video/mp4", "mp4 m4v"),
    ("video/ogg", "ogv"),
    ("video/quicktime", "mov"),
    ("video/webm", "webm"),
  ]
}
