/**
 * Who may connect from another machine. The control processes of a service share one key; each other process has a join token,
 * which is made from it for one role and one name:
 *
 *   role:name:HMAC(key, role and name)
 *
 * The last part is the pre-shared key of its connections, and `role/name` the identity that it names in the handshake. A control
 * process computes the same from its key, so nothing is stored, nothing expires, and a token is good for no other role or name.
 */
import { createHmac } from 'node:crypto'

/** The place for which the vault derives the key of the control processes. */
export const CLUSTER_KEY_PLACE = 'cluster key'

export type Identity = { role: string; name: string }

export type JoinToken = Identity & { secret: Buffer }

const ROLE = /^[a-z]{1,20}$/
const NAME = /^[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?$/
const SECRET_BYTES = 32

export class TokenRefused extends Error {}

/** `key` is the one that the control processes share. */
export function joinToken(key: string, { role, name }: Identity): string {
  if (!ROLE.test(role)) throw new TokenRefused(`${JSON.stringify(role)} is not a role`)
  if (!NAME.test(name))
    throw new TokenRefused(
      'a name has 1 to 63 lower-case letters, digits, dots and hyphens, and begins with none of the last two',
    )
  return [role, name, secretOf(key, { role, name }).toString('base64url')].join(':')
}

export function readJoinToken(token: string): JoinToken {
  const [role = '', name = '', text = '', ...rest] = token.trim().split(':')
  const secret = Buffer.from(text, 'base64url')
  if (rest.length > 0 || !ROLE.test(role) || !NAME.test(name) || secret.length !== SECRET_BYTES)
    throw new TokenRefused('this is not a join token: it has the form role:name:secret')
  return { role, name, secret }
}

/** A role has no character that a name could begin with after it, so no two identities have the same text. */
export const identityText = ({ role, name }: Identity): string => `${role}/${name}`

/** Undefined for a text that no join token leads to. */
export function readIdentity(text: string): Identity | undefined {
  const at = text.indexOf('/')
  const [role, name] = [text.slice(0, at), text.slice(at + 1)]
  return at > 0 && ROLE.test(role) && NAME.test(name) ? { role, name } : undefined
}

export const secretOf = (key: string, identity: Identity): Buffer =>
  createHmac('sha256', key)
    .update(`headland join token\0${identityText(identity)}`)
    .digest()
