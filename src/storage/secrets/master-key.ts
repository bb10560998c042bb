/**
 * The master key: given by setting, or a file of mode 0600 that the first start makes. The database remembers which key
 * its secrets were sealed with. A missing or different key stops the start: with a new one no stored secret could be read,
 * and that would not be noticed until the next deployment.
 */
import { randomBytes } from 'node:crypto'
import { link, open, readFile, rm, stat } from 'node:fs/promises'
import { absent } from '../../base/index.ts'
import { type Sql, statement } from '../sql/sql.ts'
import { createVault, MASTER_KEY_BYTES, type Vault } from './vault.ts'

export type MasterKeySource = { file: string; given: string | undefined }

export async function openVault(sql: Sql, source: MasterKeySource): Promise<Vault> {
  const [known] = await sql.query<{ value: string }>(statement`SELECT value FROM instance WHERE name = 'master_key_id'`)
  const vault = createVault(await masterKey(source, known !== undefined))
  const keyId = await sql.transaction(async (tx) => {
    await tx.query(
      statement`INSERT INTO instance (name, value) VALUES ('master_key_id', ${vault.keyId}) ON CONFLICT (name) DO NOTHING`,
    )
    const [row] = await tx.query<{ value: string }>(statement`SELECT value FROM instance WHERE name = 'master_key_id'`)
    return row?.value
  })
  if (keyId !== vault.keyId) {
    throw new Error(
      `The data folder's secrets are sealed with master key ${keyId}, but the key found is ${vault.keyId}. Put the right key back (${source.file}, or the setting masterKey).`,
    )
  }
  return vault
}

async function masterKey({ file, given }: MasterKeySource, isExpected: boolean): Promise<Buffer> {
  if (given !== undefined) return decode(given, 'the setting masterKey')
  const found = await readKeyFile(file)
  if (found) return found
  if (isExpected) {
    throw new Error(
      `The master key ${file} is gone, and the data folder holds secrets sealed with it. Put it back from your backup; without it the shell variables cannot be read.`,
    )
  }
  await createKeyFile(file)
  return (await readKeyFile(file)) as Buffer
}

async function readKeyFile(file: string): Promise<Buffer | undefined> {
  const found = await stat(file).catch(absent)
  if (!found) return undefined
  if (found.mode & 0o077) throw new Error(`Others can read the master key. Run: chmod 600 ${file}`)
  return decode(await readFile(file, 'utf8'), file)
}

/** Written to a draft and linked into place: two processes that start at once end up with the same key. */
async function createKeyFile(file: string) {
  const draft = `${file}.${process.pid}.new`
  const handle = await open(draft, 'wx', 0o600)
  try {
    await handle.writeFile(`${randomBytes(MASTER_KEY_BYTES).toString('base64')}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await link(draft, file).catch((error) => {
    if (error.code !== 'EEXIST') throw error
  })
  await rm(draft)
}

function decode(text: string, origin: string): Buffer {
  const key = Buffer.from(text.trim(), 'base64')
  if (key.length !== MASTER_KEY_BYTES) {
    throw new Error(`${origin} must hold ${MASTER_KEY_BYTES} bytes in base64; make one with: openssl rand -base64 32`)
  }
  return key
}
