/** What edges need to know for TLS. */

export type EdgeCertificate = {
  id: string
  /** In lower case; the first label may be `*`. */
  names: readonly string[]
  /** PEM: leaf first, then intermediates. */
  chain: string
  /** PEM (PKCS #8). */
  key: string
  /** For a certificate that asks for stapling. */
  staple?: OcspStaple
}

/** An answer of an OCSP responder (RFC 6960) in base64, and when it ends. */
export type OcspStaple = { response: string; until: number }

export type EdgeChallenges = {
  /** HTTP-01: token → key authorization. */
  http: Readonly<Record<string, string>>
  /** TLS-ALPN-01: name → the certificate with the acmeIdentifier extension. */
  alpn: Readonly<Record<string, { chain: string; key: string }>>
}

/** The certificates of all edges, as the control process sets them. */
export type EdgeTls = {
  /** Replaces all certificates; resolves when every connected edge uses them. Edges that connect later get the latest. */
  setCertificates(certificates: readonly EdgeCertificate[]): Promise<void>
  /** Replaces all challenges; resolves when every connected edge answers them. */
  setChallenges(challenges: EdgeChallenges): Promise<void>
}
