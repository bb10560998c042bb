/**
 * The keys of session tickets. All edges derive them from one secret and the time, so a visitor resumes a session at any of
 * them, and they change without a message. Node uses one key at a time: at a change, visitors make a full handshake.
 */
import { hkdfSync } from 'node:crypto'

const PERIOD_MS = 12 * 60 * 60 * 1000
/** Name, HMAC key and AES key, of 16 bytes each. */
const TICKET_KEY_BYTES = 48

export const ticketKeys = (secret: Buffer, now: number): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', `session tickets ${periodOf(now)}`, TICKET_KEY_BYTES))

export const nextTicketKeys = (now: number): number => (periodOf(now) + 1) * PERIOD_MS

const periodOf = (now: number): number => Math.floor(now / PERIOD_MS)
