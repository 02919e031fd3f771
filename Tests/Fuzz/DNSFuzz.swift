// A fuzz target for what name services send. Built against HTTPDNS; see run.sh.
//
// The first byte says what the rest is: a DNS message; the records of one whose head and question are right, so that the
// fuzzer needn't find these; the JSON of a vendor's service; or the file in which answers are kept. Beside what the sanitizer
// finds, it traps where an answer has no address, more than the limit, one of the wrong kind or one that can't be written and
// read again.

import System

@testable import HTTPDNS

/// libFuzzer calls this with each input; 0 keeps the input in its reckoning.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  guard let start, count > 1 else { return 0 }
  let input = [UInt8](UnsafeBufferPointer(start: start + 1, count: count - 1))
  let query = start[0] & 4 == 0 ? v4 : v6
  switch start[0] & 3 {
  case 0: readMessage(input, query)
  case 1:
    let records = UInt8(truncatingIfNeeded: input.count / 11)
    readMessage([0, 0, 0x81, 0x80, 0, 1, 0, records, 0, 0, 0, 0] + query.bytes.dropFirst(12) + input, query)
  case 2:
    if let answers = try? VendorAnswer.read(input, for: [host, other]) {
      precondition(answers.keys.allSatisfy { $0 == host || $0 == other }, "a host that nobody asked for")
      for answer in answers.values { check(answer) }
    }
    precondition(VendorAnswer.services(input).count <= LookupAnswer.limit, "more than the limit")
  default: readFile(input)
  }
  return 0
}

private let host = name("m.example.com")
private let other = name("api.example.com")
private let v4 = DNSQuery(host: host, kind: .v4)
private let v6 = DNSQuery(host: host, kind: .v6)

private func name(_ text: String) -> HostName {
  guard let host = HostName(text) else { fatalError("no host") }
  return host
}

private func readMessage(_ message: [UInt8], _ query: DNSQuery) {
  guard let answer = try? DNSAnswer.read(message, for: query) else { return }
  check(answer)
  precondition(answer.addresses.allSatisfy { $0.isV6 == (query.kind == .v6) }, "another kind")
  precondition(answer.seconds != nil, "no time")
}

private func check(_ answer: LookupAnswer) {
  precondition((1...LookupAnswer.limit).contains(answer.addresses.count), "none, or too many")
  precondition(answer.seconds ?? 0 >= 0, "a time that is negative")
  precondition(Set(answer.addresses).count == answer.addresses.count, "one twice")
  for address in answer.addresses {
    precondition(
      IPAddress(address.text) == address && IPAddress(address.authority) == address, "not the same")
  }
}

private func readFile(_ input: [UInt8]) {
  let now: Int64 = 1_800_000_000_000
  let cache = AddressCache(saved: input, at: now, unix: now)
  let again = AddressCache(saved: cache.saved(at: now, unix: now), at: now, unix: now)
  precondition(
    cache.saved(at: now, unix: now) == again.saved(at: now, unix: now),
    "not the same when it is written and read again")
  for moment: Int64 in [.min / 2, 0, now, .max / 2] {
    _ = (cache.fresh(host, at: moment), cache.stale(host, at: moment))
  }
  precondition(cache.fresh(host, at: now + 86_400_000) == nil, "fresh for more than a day")
}
