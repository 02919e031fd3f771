import Manifests
import System
import Testing
import Values

@testable import Trust

@Suite struct StateTests {
  private static let home = try? BundleName("home")

  private func release(
    floor: Int64, serial: Int64 = 500, by signer: UInt8 = CheckSample.publisher
  ) throws -> TrustState.Release {
    TrustState.Release(
      statement: try ReleaseStatement(
        app: try AppName("shop"), bundle: try #require(Self.home), channels: [.online],
        content: CheckSample.digest("x"), serial: try #require(Serial(serial)),
        floor: try #require(Serial(floor))),
      signers: [Symbolic.key(signer).id])
  }

  private func root(
    _ number: Int64 = 2, floors: [BundleName: Serial] = [:], prefetchFloor: Serial? = nil,
    heads: [UInt8] = [5]
  ) throws -> TrustRoot {
    try TrustRoot(
      app: try AppName("shop"), number: try #require(RootNumber(number)),
      keys: [1, 3, 5, 6].map(Symbolic.key),
      roots: Symbolic.group(1), grants: [ReleaseGrant(signers: Symbolic.group(3))],
      heads: Set(heads.map { Symbolic.key($0).id }), floors: floors, prefetchFloor: prefetchFloor)
  }

  @Test func floorsRiseOnlyWithProof() throws {
    let home = try #require(Self.home)
    var state = try CheckSample().state()
    state.take([home: try release(floor: 400)])
    #expect(state.floor(of: home) == .zero)
    state.recordProof(in: .online)
    #expect(state.floor(of: home).number == 400)
    state.take([home: try release(floor: 300)])
    state.recordProof(in: .online)
    #expect(state.floor(of: home).number == 400)
  }

  @Test func whatTheRootWouldNotTakeRaisesNothing() throws {
    let home = try #require(Self.home)
    var state = try CheckSample().state()
    state.take([home: try release(floor: 400, by: CheckSample.team)])
    state.recordProof(in: .online)
    #expect(state.floor(of: home) == .zero)
  }

  @Test func aRootReplacesFloorsDownwardsToo() throws {
    let home = try #require(Self.home)
    var state = try CheckSample().state()
    state.take([home: try release(floor: 400)])
    state.recordProof(in: .online)
    state.adopt(try root(floors: [home: try #require(Serial(100))], prefetchFloor: Serial(7)))
    #expect(state.floor(of: home).number == 100)
    #expect(state.prefetchFloor.number == 7)
    // What is held would raise it again.
    state.recordProof(in: .online)
    #expect(state.floor(of: home).number == 100)
    state.adopt(try root(3, floors: [home: .zero]))
    #expect(state.floors.isEmpty)
    #expect(state.prefetchFloor.number == 7)
  }

  @Test func aHeadIsForgottenWithItsKeys() throws {
    let check = TrustCheck(place: try CheckSample.place(), verifier: Symbolic.Verifier())
    let sample = CheckSample()
    let held = check.check(
      TrustOffer(head: try sample.offer().head), state: try sample.state(), now: try #require(TrustTime(0))
    ).state
    var kept = held
    kept.adopt(try root(heads: [5, 6]))
    #expect(kept.head == held.head)
    var lost = held
    lost.adopt(try root(heads: [6]))
    #expect(lost.head == nil)
  }

  @Test func aBuildWithAnotherRootStartsFromThat() throws {
    var state = try CheckSample().state()
    let builtIn = try Symbolic.signed(try CheckSample.root(1), by: [1])
    state.adopt(try root())
    state.start(builtIn: builtIn)
    #expect(state.root.number.number == 2)
    state.start(builtIn: try Symbolic.signed(try root(7), by: []))
    #expect(state.root.number.number == 7)
    state.start(builtIn: builtIn)
    #expect(state.root.number.number == 1)
  }

  @Test func aRootInForceIsNotPutInForceAgain() throws {
    let home = try #require(Self.home)
    var state = try CheckSample().state()
    let next = try root(floors: [home: try #require(Serial(100))])
    state.adopt(next)
    state.take([home: try release(floor: 400)])
    state.recordProof(in: .online)
    state.start(builtIn: try Symbolic.signed(next, by: []))
    #expect(state.floor(of: home).number == 400)
  }

  @Test func nothingReturnsFromBelowAFloor() throws {
    let home = try #require(Self.home)
    var state = try CheckSample().state()
    state.take([home: try release(floor: 400)])
    state.recordProof(in: .online)
    #expect(state.allowsReturn(to: [home: try release(floor: 0, serial: 400)]))
    #expect(!state.allowsReturn(to: [home: try release(floor: 0, serial: 399)]))
    #expect(state.allowsReturn(to: [:]))
  }
}
