/** What edges need to know for TLS. */
export type EdgeCertificate = {
  id: string
  names: readonly string[] /** PEM: leaf first, then intermediates. */
  chain: string /** PEM (PKCS #8). */
  key: string
}
export type EdgeChallenges = {
  /** HTTP-01: token → key authorization. */
  http: Readonly<Record<string, string>>
  /** TLS-ALPN-01: name → the certificate with the acmeIdentifier extension. */
  alpn: Readonly<Record<string, { chain: string; key: string }>>
}
export type EdgeTls = {
  /** Replaces all certificates; resolves when every connected edge uses them. Edges that connect later get the latest. */
  setCertificates(certificates: readonly EdgeCertificate[]): Promise<void>
  /** Replaces all challenges; resolves when every connected edge answers them. */
  setChallenges(challenges: EdgeChallenges): Promise<void>
}
