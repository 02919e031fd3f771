import Manifests

extension Database {
  /// Makes a channel, and its app where that is missing; the first app becomes the default one.
  func makeChannel(_ app: AppName, _ name: ChannelName, publicURL: BaseURL?, now: Int64) throws(StoreError)
    -> ChannelInfo
  {
    guard let publicURL else { throw .unknownChannel(app, name) }
    let isRemoved = try value(
      Int64.self,
      "SELECT 1 FROM app AS a JOIN channel AS c ON c.app_id = a.id WHERE a.name = ? AND c.name = ?",
      app.text, name.text)
    // Its rows are there still: only `channel create` brings it back, whoever misspells a name must not.
    if isRemoved != nil { throw .channelRemoved(app, name) }
    let known = try appID(app)
    let appID = if let known { known } else { try makeApp(app, now: now) }
    try run(
      "INSERT INTO channel (app_id, name, public_url_id, created_at) VALUES (?, ?, ?, ?)", appID, name.text,
      try publicURLID(publicURL), now)
    guard let made = try channel(app, name) else { throw .unknownChannel(app, name) }
    return made
  }

  func appID(_ app: AppName) throws(StoreError) -> Int64? {
    try value(Int64.self, "SELECT id FROM app WHERE name = ?", app.text)
  }

  private func makeApp(_ app: AppName, now: Int64) throws(StoreError) -> Int64 {
    try run("INSERT INTO app (name, created_at) VALUES (?, ?)", app.text, now)
    let id = lastRowID
    // "Without `app` the first app created answers, until an admin names another default."
    try run("INSERT INTO default_app (one, app_id) VALUES (1, ?) ON CONFLICT DO NOTHING", id)
    return id
  }

  func publicURLID(_ url: BaseURL) throws(StoreError) -> Int64 {
    try run("INSERT INTO public_url (text) VALUES (?) ON CONFLICT DO NOTHING", url.text)
    return try value(Int64.self, "SELECT id FROM public_url WHERE text = ?", url.text) ?? 0
  }
}
