/**
 * Who may connect from another machine. The control processes of a service share one key; each other process has a join token,
 * which is made from it for one role and one name:
 *
 *   role:name:HMAC(key, role and name)
 *   role:name:generation:HMAC(key, role, name and generation)     after tokens of the name were revoked
 *
 * The last part is the pre-shared key of its connections, and `role/name`, or `role/name/generation`, the identity that it names in the
 * handshake. A control process computes the same from its key, so no secret is stored, nothing expires, and a token is good for no other
 * role or name. A revocation raises the generation of a name: control processes accept the newest one alone.
 */
import { createHmac } from 'node:crypto'

/** The place for which the vault derives the key of the control processes. */
export const CLUSTER_KEY_PLACE = 'cluster key'

export type Identity = {
  role: string
  name: string
  /** How often tokens of the name were revoked before this one was made; absent for never. */
  generation?: number
}

export type JoinToken = Identity & { secret: Buffer }

const ROLE = /^[a-z]{1,20}$/
const NAME = /^[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?$/
const GENERATION = /^[1-9]\d{0,8}$/
const SECRET_BYTES = 32

export class TokenRefused extends Error {}

/** `key` is the one that the control processes share. */
export function joinToken(key: string, { role, name, generation = 0 }: Identity): string {
  if (!ROLE.test(role)) throw new TokenRefused(`${JSON.stringify(role)} is not a role`)
  if (!NAME.test(name))
    throw new TokenRefused(
      'a name has 1 to 63 lower-case letters, digits, dots and hyphens, and begins with none of the last two',
    )
  const identity = withGeneration({ role, name }, generation)
  const parts = [role, name, ...(generation > 0 ? [generation] : []), secretOf(key, identity).toString('base64url')]
  return parts.join(':')
}

export function readJoinToken(token: string): JoinToken {
  const [role = '', name = '', ...rest] = token.trim().split(':')
  const [text = '', generation] = rest.toReversed()
  const secret = Buffer.from(text, 'base64url')
  const isWhole = rest.length <= 2 && ROLE.test(role) && NAME.test(name) && secret.length === SECRET_BYTES
  if (!isWhole || (generation !== undefined && !GENERATION.test(generation)))
    throw new TokenRefused('this is not a join token: it has the form role:name:secret')
  return { ...withGeneration({ role, name }, Number(generation ?? 0)), secret }
}

const withGeneration = (identity: Identity, generation: number): Identity =>
  generation > 0 ? { ...identity, generation } : identity

/** Neither a role nor a name has a slash, so no two identities have the same text. */
export const identityText = ({ role, name, generation = 0 }: Identity): string =>
  [role, name, ...(generation > 0 ? [generation] : [])].join('/')

/** Undefined for a text that no join token leads to. */
export function readIdentity(text: string): Identity | undefined {
  const [role = '', name = '', generation, ...rest] = text.split('/')
  if (rest.length > 0 || !ROLE.test(role) || !NAME.test(name)) return undefined
  if (generation !== undefined && !GENERATION.test(generation)) return undefined
  return withGeneration({ role, name }, Number(generation ?? 0))
}

export const secretOf = (key: string, identity: Identity): Buffer =>
  createHmac('sha256', key)
    .update(`headland join token\0${identityText(identity)}`)
    .digest()
