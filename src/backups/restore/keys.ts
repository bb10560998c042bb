/** Finds the master key of a backup, which is identified by its id before anything is written. */
import { readFile } from 'node:fs/promises'
import { absent } from '../../base/index.ts'
import { createVault } from '../../storage/index.ts'
import { BackupRefused } from '../entry.ts'

export type KeySources = {
  /** The setting. */
  given: string | undefined
  /** `master.key` of the data folder. */
  file: string
  /** A file that the user named. */
  named?: string | undefined
}

/** The key as text in base64, and where it was found. */
export type FoundKey = { text: string; keyId: string; from: 'setting' | 'named' | 'file' }

/** The first that exists, the most explicit source first. */
export async function findKey({ given, file, named }: KeySources): Promise<FoundKey | undefined> {
  if (named !== undefined) return keyOf(await readFile(named, 'utf8').catch(unreadable(named)), 'named', named)
  if (given !== undefined) return keyOf(given, 'setting', 'The setting masterKey')
  const text = await readFile(file, 'utf8').catch(absent)
  return text === undefined ? undefined : keyOf(text, 'file', file)
}

function keyOf(text: string, from: FoundKey['from'], origin: string): FoundKey {
  try {
    return { text: text.trim(), keyId: createVault(Buffer.from(text.trim(), 'base64')).keyId, from }
  } catch (cause) {
    throw new BackupRefused(`${origin} does not hold a master key.`, { cause })
  }
}

const unreadable = (file: string) => (cause: Error) => {
  throw new BackupRefused(`The key file ${file} cannot be read: ${cause.message}`, { cause })
}

/** Throws unless the key can prove the backup. */
export function checkOwnKey(found: FoundKey | undefined, keyId: string | null) {
  if (keyId === null || found?.keyId === keyId) return
  throw new BackupRefused(
    `A backup is proven with master key ${keyId}, and ${found ? `the key that was found is ${found.keyId}` : 'no key was found'}. Put it back as master.key in the data folder, or give it as the setting masterKey.`,
  )
}

/** Throws unless the key opens the backup's secrets. */
export function checkKey(found: FoundKey | undefined, { keyId, hasKey }: { keyId: string | null; hasKey: boolean }) {
  if (keyId === null || (hasKey && found === undefined)) return
  if (found === undefined)
    throw new BackupRefused(
      `The secrets are sealed with master key ${keyId}, which is not in the backup. Give your copy of the key with --key-file FILE, or as the setting masterKey.`,
    )
  if (found.keyId !== keyId)
    throw new BackupRefused(
      `The secrets are sealed with master key ${keyId}, and the key that was found is ${found.keyId}. Give the right one: --key-file FILE, the setting masterKey, or master.key in the data folder.`,
    )
}
