import Foundation

extension PageCase {
  /// Every kind of body sent in every way, from `Site/bodies.js`: what the site receives is compared byte for byte.
  static func bodies() throws -> [PageCase] {
    let kinds = try String(contentsOf: folder.appendingPathComponent("bodies.js"), encoding: .utf8)
    // Passed to workers as text.
    let text = String(decoding: try JSONEncoder().encode([kinds]), as: UTF8.self)
    let start = try prelude() + kinds + "const kindsText = \(text)[0];\n"
    let ways = ["fetch", "fetch with keepalive", "XHR", "synchronous XHR", "beacon"].flatMap { way in
      Body.all.map { kind in
        PageCase(
          name: "\(way): \(kind.name)", needsSites: true,
          script: start + "return await received(await send('\(way)', '\(kind.name)'))",
          expected: kind.received)
      }
    }
    let workers = ["fetch", "XHR", "synchronous XHR"].flatMap { way in
      Body.all.map { kind in
        PageCase(
          name: "\(way) of a worker: \(kind.name)", needsSites: true,
          script: start
            + "return await received(await worker(kindsText + `return await send('\(way)', '\(kind.name)')`))",
          expected: kind.received)
      }
    }
    let forms = Body.forms.map { form in
      PageCase(
        name: "form: \(form.name)", needsSites: true,
        script: start + "return await received(await submit('\(form.encoding)', \(form.hasFile)))",
        expected: form.received)
    }
    return ways + workers + forms
  }

  /// A body as the site has to receive it.
  private struct Body {
    let name: String
    /// Nil: there is none.
    let type: String?
    let bytes: [UInt8]
    var encoding = ""
    var hasFile = false

    /// The result of `received` in the prelude.
    var received: String {
      let type = type.map { "\"\($0)\"" } ?? "null"
      return "[\"POST\",\(type),\"\(bytes.map { String(format: "%02x", $0) }.joined())\"]"
    }

    private static let octets = (0...255).map { UInt8($0) }

    /// With the boundary `B`, which the site substitutes for the real one.
    private static func multipart(_ text: (name: String, value: String)) -> [UInt8] {
      let head = """
        --B\r\nContent-Disposition: form-data; name="\(text.name)"\r\n\r\n\(text.value)\r\n\
        --B\r\nContent-Disposition: form-data; name="file"; filename="own.bin"\r\nContent-Type: text/x-own\r\n\r\n
        """
      return Array(head.utf8) + octets + Array("\r\n--B--\r\n".utf8)
    }

    static let all: [Body] = [
      Body(name: "string", type: "text/plain;charset=UTF-8", bytes: Array("tëxt\r\n&=\0".utf8)),
      Body(
        name: "URLSearchParams", type: "application/x-www-form-urlencoded;charset=UTF-8",
        bytes: Array("a=1+2&b=%C3%BC%26%3D".utf8)),
      Body(name: "ArrayBuffer", type: nil, bytes: octets),
      Body(name: "view", type: nil, bytes: Array(octets[100..<160])),
      Body(name: "Blob", type: "text/x-own", bytes: octets + Array("blob".utf8)),
      Body(name: "File", type: "text/x-own", bytes: octets),
      Body(name: "FormData", type: "multipart/form-data; boundary=B", bytes: multipart(("k", "v ü"))),
    ]

    static let forms: [Body] = [
      Body(
        name: "urlencoded", type: "application/x-www-form-urlencoded",
        bytes: Array("k=v+%C3%BC&l=%3D%26".utf8),
        encoding: "application/x-www-form-urlencoded"),
      Body(
        name: "text/plain", type: "text/plain", bytes: Array("k=v ü\r\nl==&\r\n".utf8), encoding: "text/plain"
      ),
      Body(
        name: "multipart with a file", type: "multipart/form-data; boundary=B",
        bytes: multipart(("k", "v ü")),
        encoding: "multipart/form-data", hasFile: true),
    ]
  }
}
