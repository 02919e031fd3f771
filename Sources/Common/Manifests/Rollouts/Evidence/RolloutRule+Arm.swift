extension RolloutRule {
  /// Returns the arm in which an installation counts; nil if it is in neither. It stays in the arm in which it opened its first page.
  ///
  /// Both arms must consist of the same kind of devices, told apart by chance alone. So an app outside of the range is in neither,
  /// as are the members of a group, whom a person has chosen, installations whose app left the candidate, and those that hold it
  /// though their bucket isn't in any more, since the share fell.
  /// - Parameters:
  ///   - installation: the device.
  ///   - share: by what share, of 10,000, buckets are divided; nil for the rule's own.
  package func arm(of installation: Installation, share: Int? = nil) -> RolloutArm? {
    guard includesApp(installation.appVersion), installation.leftSeed != seed,
      !groups.contains(where: installation.groups.contains)
    else { return nil }
    let arm = RolloutArm(bucket: installation.id.bucket(seed: seed), share: share ?? self.share)
    return arm == .control && installation.takenSeed == seed ? nil : arm
  }
}
