/**
 * Whether who asks has this version already, by `If-None-Match`. The comparison is weak, as RFC 9110 has it for reads.
 * @param given the field as it was sent
 */
export const isKnownEtag = (given: string | undefined, etag: string): boolean =>
  given !== undefined &&
  (given.trim() === '*' || given.split(',').some((one) => one.trim().replace(/^W\//, '') === etag))
