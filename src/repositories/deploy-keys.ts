/**
 * Deploy keys: made here as ed25519, or given. Private keys are in the format of OpenSSH (PROTOCOL.key), which ssh reads and which
 * contains the public part in clear.
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { fieldInvalid } from '../contract/index.ts'

export type DeployKey = { privateKey: string; publicKey: string }

const MAGIC = Buffer.from('openssh-key-v1\0')
const BEGIN = '-----BEGIN OPENSSH PRIVATE KEY-----'
const END = '-----END OPENSSH PRIVATE KEY-----'
const KINDS = ['ssh-ed25519', 'ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp521', 'ssh-rsa']

/** The comment tells people at the provider where the key is used. */
export function makeDeployKey(comment: string): DeployKey {
  const { x = '', d = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
  const [point, seed] = [Buffer.from(x, 'base64url'), Buffer.from(d, 'base64url')]
  const publicBlob = Buffer.concat([field('ssh-ed25519'), field(point)])
  // Twice the same number: ssh compares them to see whether a passphrase was right.
  const number = randomBytes(4)
  const secret = Buffer.concat([
    ...[number, number],
    ...[field('ssh-ed25519'), field(point), field(Buffer.concat([seed, point])), field(comment)],
  ])
  const padding = Buffer.from(Array.from({ length: (8 - (secret.length % 8)) % 8 }, (_, at) => at + 1))
  const whole = Buffer.concat([
    ...[MAGIC, field('none'), field('none'), field('')],
    ...[uint32(1), field(publicBlob), field(Buffer.concat([secret, padding]))],
  ])
  return { privateKey: armored(whole), publicKey: `ssh-ed25519 ${publicBlob.toString('base64')} ${comment}` }
}

/** Checks a key that a user gives, and finds its public part. */
export function readDeployKey(text: string, comment: string): DeployKey {
  const lines = text.trim().split(/\s*\n/)
  if (lines[0]?.trim() !== BEGIN || lines.at(-1)?.trim() !== END) {
    throw refused(`must be a private key of OpenSSH, which begins with ${BEGIN}; ssh-keygen -p converts others`)
  }
  const whole = Buffer.from(lines.slice(1, -1).join(''), 'base64')
  const rest = createReader(whole)
  if (!rest.bytes(MAGIC.length)?.equals(MAGIC)) throw refused('is damaged')
  const [cipher, , , count] = [rest.field(), rest.field(), rest.field(), rest.uint32()]
  if (cipher?.toString() !== 'none') throw refused('must not have a passphrase: the service could not use it')
  const publicBlob = rest.field()
  if (count !== 1 || !publicBlob || !rest.field()) throw refused('is damaged')
  const kind = createReader(publicBlob).field()?.toString() ?? ''
  if (!KINDS.includes(kind)) throw refused(`must be one of: ${KINDS.join(', ')}`)
  return { privateKey: armored(whole), publicKey: `${kind} ${publicBlob.toString('base64')} ${comment}` }
}

const HOST_KEY = new RegExp(`^[^\\s@#][^\\s]* (?:${KINDS.join('|')}) [A-Za-z0-9+/]+={0,2}$`)

/** Lines of known_hosts: a host and one key each, without markers and comments. */
export function checkKnownHosts(text: string): string {
  const lines = text
    .split('\n')
    .map((line) => line.trim().split(/\s+/).slice(0, 3).join(' '))
    .filter((line) => line !== '' && !line.startsWith('#'))
  if (lines.every((line) => HOST_KEY.test(line))) return lines.map((line) => `${line}\n`).join('')
  throw fieldInvalid('knownHosts', "must be lines of OpenSSH's known_hosts: a host, the kind of the key, the key")
}

function createReader(of: Buffer) {
  let at = 0
  const bytes = (count: number): Buffer | undefined => {
    if (at + count > of.length) return undefined
    at += count
    return of.subarray(at - count, at)
  }
  const number = () => bytes(4)?.readUInt32BE(0)
  return {
    bytes,
    uint32: number,
    field: (): Buffer | undefined => {
      const length = number()
      return length === undefined ? undefined : bytes(length)
    },
  }
}

function armored(whole: Buffer): string {
  const lines = whole.toString('base64').match(/.{1,70}/g) ?? []
  return [BEGIN, ...lines, END, ''].join('\n')
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

function field(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([uint32(bytes.length), bytes])
}

const refused = (why: string) => fieldInvalid('deployKey', why)
