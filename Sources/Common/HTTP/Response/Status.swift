/// A status code (RFC 9110 §15).
package struct Status: Sendable, Hashable {
  /// The three-digit code.
  package let code: UInt16

  /// Creates a status from its code.
  package init(_ code: UInt16) { self.code = code }

  /// 200 OK.
  package static let ok = Status(200)
  /// 201 Created.
  package static let created = Status(201)
  /// 202 Accepted.
  package static let accepted = Status(202)
  /// 204 No Content.
  package static let noContent = Status(204)
  /// 206 Partial Content.
  package static let partialContent = Status(206)
  /// 302 Found.
  package static let found = Status(302)
  /// 303 See Other.
  package static let seeOther = Status(303)
  /// 304 Not Modified.
  package static let notModified = Status(304)
  /// 400 Bad Request.
  package static let badRequest = Status(400)
  /// 401 Unauthorized.
  package static let unauthorized = Status(401)
  /// 403 Forbidden.
  package static let forbidden = Status(403)
  /// 404 Not Found.
  package static let notFound = Status(404)
  /// 405 Method Not Allowed.
  package static let methodNotAllowed = Status(405)
  /// 408 Request Timeout.
  package static let requestTimeout = Status(408)
  /// 409 Conflict.
  package static let conflict = Status(409)
  /// 410 Gone.
  package static let gone = Status(410)
  /// 411 Length Required.
  package static let lengthRequired = Status(411)
  /// 412 Precondition Failed.
  package static let preconditionFailed = Status(412)
  /// 413 Content Too Large.
  package static let contentTooLarge = Status(413)
  /// 414 URI Too Long.
  package static let uriTooLong = Status(414)
  /// 415 Unsupported Media Type.
  package static let unsupportedMediaType = Status(415)
  /// 416 Range Not Satisfiable.
  package static let rangeNotSatisfiable = Status(416)
  /// 417 Expectation Failed.
  package static let expectationFailed = Status(417)
  /// 422 Unprocessable Content.
  package static let unprocessableContent = Status(422)
  /// 429 Too Many Requests.
  package static let tooManyRequests = Status(429)
  /// 431 Request Header Fields Too Large.
  package static let fieldsTooLarge = Status(431)
  /// 500 Internal Server Error.
  package static let internalServerError = Status(500)
  /// 501 Not Implemented.
  package static let notImplemented = Status(501)
  /// 503 Service Unavailable.
  package static let serviceUnavailable = Status(503)
  /// 505 HTTP Version Not Supported.
  package static let versionNotSupported = Status(505)
  /// 507 Insufficient Storage.
  package static let insufficientStorage = Status(507)

  /// The class: 2 for 2xx, 4 for 4xx.
  package var family: Int { Int(code) / 100 }

  /// Whether an answer with this status never has a body (RFC 9110 §6.4.1).
  package var isBodyless: Bool { code == 204 || code == 304 || code < 200 }

  /// The reason phrase of RFC 9110 §15; for a code it doesn't list, that of the class's first code.
  package var reason: StaticString {
    switch code {
    case 100: "Continue"
    case 200: "OK"
    case 201: "Created"
    case 202: "Accepted"
    case 204: "No Content"
    case 206: "Partial Content"
    case 301: "Moved Permanently"
    case 302: "Found"
    case 303: "See Other"
    case 304: "Not Modified"
    case 307: "Temporary Redirect"
    case 308: "Permanent Redirect"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 406: "Not Acceptable"
    case 407: "Proxy Authentication Required"
    case 408: "Request Timeout"
    case 409: "Conflict"
    case 410: "Gone"
    case 411: "Length Required"
    case 412: "Precondition Failed"
    case 413: "Content Too Large"
    case 414: "URI Too Long"
    case 415: "Unsupported Media Type"
    case 416: "Range Not Satisfiable"
    case 417: "Expectation Failed"
    case 421: "Misdirected Request"
    case 422: "Unprocessable Content"
    case 428: "Precondition Required"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 502: "Bad Gateway"
    case 503: "Service Unavailable"
    case 505: "HTTP Version Not Supported"
    case 507: "Insufficient Storage"
    case 400..<500: "Bad Request"
    case 500..<600: "Internal Server Error"
    default: "OK"
    }
  }
}
