// The messages of this module's errors: what is wrong, where, and what to do.

extension HumanText.Problem: CustomStringConvertible {
  package var description: String {
    switch self {
    case .tooLong(let limit): "longer than \(limit) bytes; shorten it"
    case .character(let scalar): "it can't contain \(Quoted.character(scalar)); remove it"
    }
  }
}

extension ResourceURLError: CustomStringConvertible {
  package var description: String {
    // A text with a user name may contain a password, which mustn't be logged.
    if problem == .userinfo { return "a URL with a user name or password can't be used; write it without" }
    return "\(Quoted.text(text)): \(problem.message)"
  }
}

extension ResourceURLError.Problem {
  fileprivate var message: String {
    switch self {
    case .relative: "not an absolute URL; write it with http:// or https:// in front"
    case .scheme(let scheme): "the scheme is \(Quoted.text(scheme)); only http and https can be used"
    case .lineBreak: "a URL can't contain tabs or line breaks; remove them"
    case .userinfo: "a URL can't contain a user name"
    case .noHost: "the host is missing; write https://host/…"
    case .hostNotASCII: "the host has characters outside ASCII; write it as punycode (xn--…)"
    case .hostByte(let byte):
      "the host can't contain \(Quoted.character(Unicode.Scalar(byte))); check its spelling"
    case .ipv4: "the host ends in a number, but is not an IPv4 address; check its spelling"
    case .ipv6: "the part in brackets is not an IPv6 address; check its spelling"
    case .port: "the port is not a number from 0 to 65535; check the part after the host's colon"
    case .tooLong(let count): "the URL is \(count) bytes long; the limit is \(ResourceURL.limit)"
    case .baseWithQuery: "a base URL can't have a ? or #; write it without"
    case .path: "a path can't have an empty part, . or ..; write it relative to its folder"
    case .pathNotUTF8: "the file's name isn't UTF-8; rename it"
    }
  }
}

extension JSONError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .ended: "the JSON ends inside a value; it was probably cut off"
    case .unexpected(let at): "not JSON: unexpected byte at offset \(at)"
    case .trailing(let at): "not JSON: data after the value at offset \(at)"
    case .tooDeep(let at):
      "the JSON at offset \(at) is nested deeper than \(JSONReader.depthLimit) levels; flatten it"
    case .tooLarge(let at):
      "the JSON at offset \(at) has a member or white space of more than \(JSONStream.partLimit) bytes; shorten it"
    case .tooMany(let at): "the JSON has more values than are read, at offset \(at); shorten it"
    case .number(let at): "not JSON: invalid number at offset \(at)"
    case .escape(let at): "not JSON: invalid escape at offset \(at)"
    case .encoding(let at): "not JSON: the string at offset \(at) isn't UTF-8"
    case .duplicateKey(let key): "the JSON has the key \(Quoted.text(key)) twice; keep one"
    case .member(let key): "the JSON's member \(Quoted.text(key)) is missing or invalid"
    }
  }
}
