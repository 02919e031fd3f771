import System
import Testing

@testable import Identity

/// The examples of RFC 7515, appendix A, and RFC 8037, appendix A.
@Suite struct VectorTests {
  private static let payload =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
  private static let rsaSignature =
    "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CU"
    + "Ar7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_d"
    + "O--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0ig"
    + "cN_IoypGlUPQGe77Rw"
  private static let modulus =
    "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZ"
    + "S-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2"
    + "R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcD"
    + "TW9gb54h4FRWyuXpoQ"
  private static let rsa = #"{"kty":"RSA","e":"AQAB","n":"\#(modulus)"}"#
  private static let ec =
    #"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"#
    + #""x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#
  private static let ecSignature =
    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"

  private static func keys(_ texts: String...) throws -> KeySet {
    try KeySet(Array(#"{"keys":[\#(texts.joined(separator: ","))]}"#.utf8))
  }

  @Test(arguments: [("eyJhbGciOiJSUzI1NiJ9", rsaSignature), ("eyJhbGciOiJFUzI1NiJ9", ecSignature)])
  func `the tokens of A.2 and A.3 are signed`(header: String, signature: String) throws {
    let token = try JSONWebToken("\(header).\(Self.payload).\(signature)")
    try Self.keys(Self.rsa, Self.ec).verify(token)
    #expect(token.claimedIssuer == "joe")
    // Neither key verifies the other's.
    let other = try Self.keys(token.algorithm == .rs256 ? Self.ec : Self.rsa)
    #expect(throws: IdentityError.unknownKey(nil)) { try other.verify(token) }
  }

  @Test func `they aren't ID tokens`() throws {
    let token = try JSONWebToken("eyJhbGciOiJFUzI1NiJ9.\(Self.payload).\(Self.ecSignature)")
    #expect(throws: IdentityError.issuer(expected: TestIssuer.name, actual: "joe")) {
      try TestIssuer.rules().verify(token, with: Self.keys(Self.ec), at: 1_300_819_000_000)
    }
  }

  @Test func `the signature of RFC 8037, A.4, is verified`() throws {
    let signed = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"
    let signature = try #require(
      Base64URL.decode(
        "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg".utf8))
    let number = try #require(Base64URL.decode("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo".utf8))
    let key = try #require(SignatureKey(ed25519: number))
    #expect(key.verifies(signature, of: Array(signed.utf8)))
    #expect(!key.verifies(signature, of: Array((signed + "A").utf8)))
    // Its payload is a text.
    #expect(throws: IdentityError.self) { try JSONWebToken("\(signed).\(Base64URL.encode(signature))") }
  }

  @Test func `the unsigned token of A.5 and the one with a shared secret of A.1 are refused`() {
    #expect(throws: IdentityError.algorithm("none")) {
      try JSONWebToken("eyJhbGciOiJub25lIn0.\(Self.payload).")
    }
    let header = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9"
    #expect(throws: IdentityError.algorithm("HS256")) {
      try JSONWebToken("\(header).\(Self.payload).dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
    }
  }
}
