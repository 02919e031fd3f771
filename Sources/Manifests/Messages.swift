// The messages of this module's errors: what is wrong, where, and what to do.

extension NameError: CustomStringConvertible {
  package var description: String {
    let (thing, rule) = kind.message
    let quoted = quote(text)
    return switch problem {
    case .empty: "the \(thing) is empty; \(rule)"
    case .tooLong(let limit): "\(quoted) is too long for the \(thing): \(limit) characters at most"
    case .start: "the \(thing) \(quoted) can't begin like that; \(rule)"
    case .character(let scalar): "the \(thing) \(quoted) can't contain \(name(scalar)); \(rule)"
    case .reserved: "\(quoted) can't be the \(thing), because it is used in paths; choose another"
    }
  }
}

extension NameError.Kind {
  fileprivate var message: (thing: String, rule: String) {
    switch self {
    case .app: ("app's name", "use a letter, then letters, digits, - and _")
    case .channel: ("channel's name", "use a lowercase letter, then lowercase letters, digits and -")
    case .bundle: ("bundle's name", "use a letter or digit, then letters, digits, ., - and _")
    }
  }
}

extension HumanText.Problem: CustomStringConvertible {
  package var description: String {
    switch self {
    case .tooLong(let limit): "longer than \(limit) bytes; shorten it"
    case .character(let scalar): "it can't contain \(name(scalar)); remove it"
    }
  }
}

extension ResourceURLError: CustomStringConvertible {
  package var description: String {
    // A text with a user name may contain a password, which mustn't be logged.
    if problem == .userinfo { return "a URL with a user name or password can't be used; write it without" }
    return "\(quote(text)): \(problem.message)"
  }
}

extension ResourceURLError.Problem {
  fileprivate var message: String {
    switch self {
    case .relative: "not an absolute URL; write it with http:// or https:// in front"
    case .scheme(let scheme): "the scheme is \(quote(scheme)); only http and https can be used"
    case .lineBreak: "a URL can't contain tabs or line breaks; remove them"
    case .userinfo: "a URL can't contain a user name"
    case .noHost: "the host is missing; write https://host/…"
    case .hostNotASCII: "the host has characters outside ASCII; write it as punycode (xn--…)"
    case .hostByte(let byte): "the host can't contain \(name(Unicode.Scalar(byte))); check its spelling"
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
    case .duplicateKey(let key): "the JSON has the key \(quote(key)) twice; keep one"
    case .member(let key): "the JSON's member \(quote(key)) is missing or invalid"
    }
  }
}

extension ManifestMismatch: CustomStringConvertible {
  package var description: String {
    switch self {
    case .base(let expected, let held):
      "the patch is for version \(expected), not for \(held), which is here; ask for the whole manifest"
    case .digest(let expected, let actual):
      "the manifest's digest is \(actual), not \(expected) as announced; ask for the whole manifest"
    case .entry(let url, let error): "the entry of \(quote(url.text)) is broken: \(error)"
    }
  }
}

/// Returns the text in quotes, without control characters, cut to 200 characters.
private func quote(_ text: String) -> String {
  var quoted = "\""
  for scalar in text.unicodeScalars.prefix(200) {
    quoted.unicodeScalars.append(scalar.properties.generalCategory == .control ? "\u{FFFD}" : scalar)
  }
  return quoted + (text.unicodeScalars.count > 200 ? "…\"" : "\"")
}

/// Returns a character in quotes, or its code point if it isn't visible.
private func name(_ scalar: Unicode.Scalar) -> String {
  if scalar == " " { return "a space" }
  if scalar.value > 0x20 && scalar.value != 0x7F && !(0x80...0x9F).contains(scalar.value) {
    return "\"\(scalar)\""
  }
  let digits = String(scalar.value, radix: 16, uppercase: true)
  return "U+" + String(repeating: "0", count: 4 - min(4, digits.count)) + digits
}
