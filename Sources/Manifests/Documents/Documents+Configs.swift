extension Documents {
  /// `prefetchConfig.json`; version 0 and an empty `config` before the first push.
  ///
  /// - Parameter config: the array, canonical.
  package static func prefetchConfig(_ version: Int64, config: [UInt8]) -> [UInt8] {
    var data = ObjectWriter(reserving: config.count + 64)
    data.append(key: "config", raw: config)
    data.append(key: "name", string: "prefetchConfig")
    data.append(key: "version", string: String(version))
    return success.around(data.finish())
  }

  /// `policy.json`; version 0 before the first change.
  package static func policy(_ version: Int64, _ policy: Policy) -> [UInt8] {
    var data = policy.json
    data["version"] = .string(String(version))
    return success.around(JSONValue.object(data).canonical)
  }
}
