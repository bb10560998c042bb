/**
 * A path as it may be stored: parts that look like an id, an e-mail address or a secret are masked. They occur in addresses of
 * password resets, invitations and shared carts, and a list of pages does not need them.
 */
export const maskPath = (path: string): string =>
  path
    .split('/')
    .map((segment) => maskSegment(segment))
    .join('/')

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i
const EMAIL = /@|%40/i
/** A run of letters and digits that is no word. Words of a title are shorter, and have hyphens between them. */
const TOKEN = /(?<!\w)(?=\w*\d)(?=\w*[a-z])\w{20,}/i
/** Numbers that are longer than a date: of a phone, a payment card, an order. */
const LONG_NUMBER = /^\d{9,}$/

function maskSegment(segment: string): string {
  if (EMAIL.test(segment)) return '{email}'
  if (UUID.test(segment) || LONG_NUMBER.test(segment)) return '{id}'
  return TOKEN.test(segment) ? '{token}' : segment
}
