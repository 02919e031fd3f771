import System

extension Device {
  /// Switches to `next`, whose changed files are all staged, except those in `skipped`.
  ///
  /// Pages don't wait for it: the cache's lock is held neither while the disk is synced, nor for more than a few files at a
  /// time while these move into place. A page that asks for one that hasn't moved yet moves it.
  func commit(_ next: DeviceIndex, skipping skipped: Backlog = Backlog()) throws(DeviceError) {
    let owner = try cache.withLock { cache throws(DeviceError) in
      try cache.prepare(skipping: skipped)
      return cache.owner
    }
    try folder.syncStaged()
    let staged = Set(try folder.digests(in: folder.staging))
    try keepPrevious(before: next)
    // The rename of `index.json` is the switch; no job changes the files meanwhile.
    try folder.write(next.rendered(for: owner), to: folder.index)
    cache.withLock { $0.adopt(next, staged: staged) }
    try moveFiles()
    let backlog = cache.withLock { $0.backlog }
    try folder.removeStaged(keeping: backlog)
    try folder.forgetPack()
    try folder.forgetAnswer()
    settleTrials()
    try cache.withLock { cache throws(DeviceError) in try cache.finishSwitch(at: now()) }
  }

  /// Makes the moves of a switch.
  func moveFiles() throws(DeviceError) {
    while try cache.withLock({ cache throws(DeviceError) in try cache.moveBatch(at: now()) }) {
      // A thread that waits for the lock isn't sure to get it from one that takes it again at once.
      Clock.sleep(for: .milliseconds(1))
    }
  }
}
