/**
 * Proof of the origin of a backup. Its list names every entry with its digest, and is authenticated with a key that is
 * derived from the master key: so a copy of the master key from outside the backup proves that the backup was not made
 * or altered by others. A restored database decides what runs on the machine and as which user; digests alone could be
 * made by an attacker.
 */
import { createHmac, type Hmac } from 'node:crypto'
import { sameDigest } from '../base/index.ts'
import { createVault } from '../storage/index.ts'
import { BackupRefused, FORMAT_WITHOUT_TAG, type Head } from './entry.ts'
import type { FoundKey } from './restore/keys.ts'

/** HMAC-SHA256 of the list's bytes. */
export type Tag = Hmac

export const startTag = ({ text }: Pick<FoundKey, 'text'>): Tag =>
  createHmac('sha256', Buffer.from(createVault(Buffer.from(text, 'base64')).derive('list of a backup'), 'base64url'))

/** Whether a tag follows the list. */
export const hasTag = ({ format, keyId }: Head): boolean => format !== FORMAT_WITHOUT_TAG && keyId !== null

/** As it is in the backup. */
export const TAG_BYTES = 65
export const writtenTag = (tag: Tag): string => `${tag.digest('hex')}\n`

export type Proof = {
  /** Receives the bytes of the list. */
  tag?: Tag
  /** Why the origin of the backup is not proven. */
  unproven?: string
}

/** Before the list is read: the key to prove it with. */
export function startProof(head: Head, key: FoundKey | undefined): Proof {
  if (head.format === FORMAT_WITHOUT_TAG) return { unproven: 'it is in the first format, which proves nothing' }
  if (head.keyId === null) return { unproven: 'it was made before the service had a master key to prove it with' }
  if (!key && head.hasKey)
    return { unproven: 'the only master key at hand is the one inside, which its author may have put there' }
  if (!key) return { unproven: 'there is no master key at hand to check it with' }
  if (key.keyId !== head.keyId)
    return { unproven: `it says that it was made with master key ${head.keyId}, and the one at hand is ${key.keyId}` }
  return { tag: startTag(key) }
}

/** After the list was read. */
export function endProof({ tag, unproven }: Proof, written: string): string | undefined {
  if (!tag) return unproven
  return sameDigest(writtenTag(tag), written)
    ? undefined
    : 'it was altered, or made without the master key that it names'
}

export const refuseUnproven = (why: string): BackupRefused =>
  new BackupRefused(
    `Nothing proves that this backup is yours: ${why}. The author of a backup decides what runs on this machine, so nothing was restored. Give your copy of the master key with --key-file FILE. If you are certain that only you could write to the backup, repeat the command with --trust.`,
  )
