/**
 * A manifest on the disk: a hash table in a file, so that an address is found by two short reads however many files a
 * site has, without the other entries in memory.
 *
 *   header    magic bytes, salt, number of slots, position and length of the settings, file size, checksum of all that
 *   slots     48 bits of the address's hash, the position of its entry and its length; a length of 0 for an empty one
 *   entries   [address, file] as JSON, one after the other
 *   settings  what applies to the whole site, as JSON
 *
 * An entry is in the first free slot from its own on, and never further away than one read reaches. Tenants choose the
 * addresses and must not be able to make them collide, so each file has a random salt of its own.
 */
import { hash, randomBytes } from 'node:crypto'
import { close, constants, fstat, open, read } from 'node:fs'
import { type FileHandle, open as openHandle, rename, rm } from 'node:fs/promises'
import { promisify } from 'node:util'
import { crc32 } from 'node:zlib'
import { RULE_LIMITS } from '../rules/limits.ts'
import type { SiteSettings, StaticFile, StaticManifest } from './types.ts'

export type ManifestFile = {
  settings: SiteSettings
  settingsBytes: number
  find(address: string): Promise<StaticFile | undefined>
  close(): Promise<void>
}

/** The file is truncated, damaged, or no manifest. */
export class UnreadableManifest extends Error {}

export const MANIFEST_NAME = 'files.index'

const MAGIC = Buffer.from('headland files 1')
const SALT_BYTES = 16
/** Magic, salt, four numbers of six bytes, checksum. */
const NUMBERS_AT = MAGIC.length + SALT_BYTES
const CHECKSUM_AT = NUMBERS_AT + 4 * 6
const HEADER_BYTES = CHECKSUM_AT + 4

const SLOT_BYTES = 16
/** With a third of the slots taken, the chance that one of a million entries finds no free one is one in a million. */
const SLOTS_PER_FILE = 3
const REACH = 64
/** A path has at most 4,096 bytes, and an entry has two of them. */
const MAX_ENTRY_BYTES = 64 * 1024
/** They contain the rules of the site, whose number is limited when they are compiled. */
const MAX_SETTINGS_BYTES = RULE_LIMITS.storedBytes + MAX_ENTRY_BYTES
const CHUNK_BYTES = 1024 * 1024

/** Written to a temporary file and then renamed, so that the file is always complete, even after a power cut. */
export async function writeManifestFile(path: string, { files, ...settings }: StaticManifest): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}.new`
  try {
    const handle = await openHandle(draft, 'wx', 0o644)
    try {
      // An entry without a free slot is rare, and another salt distributes the entries differently.
      while (!(await fill(handle, files, settings))) await handle.truncate(0)
      await handle.datasync()
    } finally {
      await handle.close()
    }
    await rename(draft, path)
  } finally {
    await rm(draft, { force: true })
  }
}

/** False where an entry found no free slot. */
async function fill(handle: FileHandle, files: StaticManifest['files'], settings: SiteSettings): Promise<boolean> {
  const addresses = Object.keys(files)
  const salt = randomBytes(SALT_BYTES)
  const slotCount = Math.max(REACH, addresses.length * SLOTS_PER_FILE)
  const slots = Buffer.alloc((slotCount + REACH) * SLOT_BYTES)
  let position = HEADER_BYTES + slots.length
  let chunks: Buffer[] = []
  let waitingBytes = 0

  async function flush() {
    await writeAll(handle, Buffer.concat(chunks), position - waitingBytes)
    chunks = []
    waitingBytes = 0
  }
  function add(bytes: Buffer) {
    chunks.push(bytes)
    waitingBytes += bytes.length
    position += bytes.length
  }

  for (const address of addresses) {
    const entry = Buffer.from(JSON.stringify([address, files[address]]))
    // No request can have so long a path.
    if (entry.length > MAX_ENTRY_BYTES) continue
    const place = hashOf(salt, address)
    const slot = freeSlot(slots, firstSlot(place, slotCount))
    if (slot === undefined) return false
    place.copy(slots, slot, 0, 6)
    slots.writeUIntBE(position, slot + 6, 6)
    slots.writeUInt32BE(entry.length, slot + 12)
    add(entry)
    if (waitingBytes >= CHUNK_BYTES) await flush()
  }
  const settingsAt = position
  add(Buffer.from(JSON.stringify(settings)))
  await flush()
  await writeAll(handle, slots, HEADER_BYTES)
  await writeAll(handle, toHeader(salt, [slotCount, settingsAt, position - settingsAt, position]), 0)
  return true
}

/** When the disk is nearly full, a write may be partial, and the next one fails. */
async function writeAll(handle: FileHandle, bytes: Buffer, position: number) {
  for (let done = 0; done < bytes.length; ) {
    done += (await handle.write(bytes, done, bytes.length - done, position + done)).bytesWritten
  }
}

const hashOf = (salt: Buffer, address: string): Buffer =>
  hash('sha256', Buffer.concat([salt, Buffer.from(address)]), 'buffer')

const firstSlot = (place: Buffer, slotCount: number): number => place.readUIntBE(0, 6) % slotCount

function freeSlot(slots: Buffer, first: number): number | undefined {
  for (let at = first; at < first + REACH; at++) {
    if (slots.readUInt32BE(at * SLOT_BYTES + 12) === 0) return at * SLOT_BYTES
  }
  return undefined
}

function toHeader(salt: Buffer, numbers: readonly number[]): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  MAGIC.copy(header)
  salt.copy(header, MAGIC.length)
  for (const [at, number] of numbers.entries()) header.writeUIntBE(number, NUMBERS_AT + at * 6, 6)
  header.writeUInt32BE(crc32(header.subarray(0, CHECKSUM_AT)), CHECKSUM_AT)
  return header
}

// File descriptors, because a FileHandle would double the cost of a read.
const openFile = promisify(open)
const readFile = promisify(read)
const statFile = promisify(fstat)
const closeFile = promisify(close)

/** Rejects with ENOENT when there is none, and with `UnreadableManifest` when it is damaged. */
/** The redirects and headers in a manifest. */
export async function rulesIn(path: string): Promise<SiteSettings['rules']> {
  const file = await openManifestFile(path)
  try {
    return file.settings.rules
  } finally {
    await file.close()
  }
}

export async function openManifestFile(path: string): Promise<ManifestFile> {
  const descriptor = await openFile(path, constants.O_RDONLY | constants.O_NOFOLLOW)

  async function readAt(position: number, length: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(length)
    for (let filled = 0; filled < length; ) {
      const { bytesRead } = await readFile(descriptor, bytes, filled, length - filled, position + filled)
      if (bytesRead === 0) throw damaged(path, 'is too short')
      filled += bytesRead
    }
    return bytes
  }

  async function readJson(position: number, length: number, maxLength = MAX_ENTRY_BYTES): Promise<unknown> {
    if (length > maxLength) throw damaged(path, `has an entry of ${length} bytes`)
    try {
      return JSON.parse((await readAt(position, length)).toString())
    } catch (error) {
      if (error instanceof SyntaxError) throw damaged(path, `has an invalid entry at ${position}`)
      throw error
    }
  }

  try {
    const header = await readAt(0, HEADER_BYTES)
    if (!header.subarray(0, MAGIC.length).equals(MAGIC)) throw damaged(path, 'is no manifest')
    if (header.readUInt32BE(CHECKSUM_AT) !== crc32(header.subarray(0, CHECKSUM_AT))) {
      throw damaged(path, 'has a damaged header')
    }
    const salt = Buffer.from(header.subarray(MAGIC.length, NUMBERS_AT))
    const numberAt = (at: number) => header.readUIntBE(NUMBERS_AT + at * 6, 6)
    const [slotCount, settingsAt, settingsBytes, fileBytes] = [0, 1, 2, 3].map(numberAt) as Four
    if ((await statFile(descriptor)).size !== fileBytes) throw damaged(path, 'does not have its original length')
    const settings = (await readJson(settingsAt, settingsBytes, MAX_SETTINGS_BYTES)) as SiteSettings

    return {
      settings,
      settingsBytes,
      async find(address) {
        const place = hashOf(salt, address)
        const slots = await readAt(HEADER_BYTES + firstSlot(place, slotCount) * SLOT_BYTES, REACH * SLOT_BYTES)
        for (let slot = 0; slot < slots.length; slot += SLOT_BYTES) {
          const length = slots.readUInt32BE(slot + 12)
          if (length === 0) return undefined
          if (slots.compare(place, 0, 6, slot, slot + 6) !== 0) continue
          const [name, file] = (await readJson(slots.readUIntBE(slot + 6, 6), length)) as [string, StaticFile]
          if (name === address) return file
        }
        return undefined
      },
      close: () => closeFile(descriptor),
    }
  } catch (error) {
    await closeFile(descriptor)
    throw error
  }
}

type Four = [number, number, number, number]

const damaged = (path: string, how: string) =>
  new UnreadableManifest(`the list of a site's files, ${path}, ${how}; deploying the site again rewrites it`)
