/**
 * Reads a whole backup without trusting it: each entry must be allowed, the list must match what was read, and must be
 * authenticated. Only then is the database opened, and it must be intact, have exactly the schema of our migrations,
 * and match the first entry.
 */
import { createHash } from 'node:crypto'
import { closeSync, createReadStream, openSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline, Readable } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'
import { constants, createZstdDecompress } from 'node:zlib'
import { MIGRATIONS, StorageUnavailable } from '../storage/index.ts'
import type { Bytes } from '../tar/index.ts'
import { contentsOf } from './contents.ts'
import { examineDatabase, examineSchema, type OpenForeignSql } from './database.ts'
import {
  atEnd,
  BackupRefused,
  broken,
  FORMAT,
  FORMAT_WITHOUT_TAG,
  HEAD,
  type Head,
  LIST,
  lineOf,
  MIN_SCHEMA,
  TAG,
} from './entry.ts'
import { endProof, hasTag, type Proof, refuseUnproven, TAG_BYTES } from './proof.ts'
import { createFreeSpace } from './restore/free-space.ts'
import { readOwners } from './restore/owners.ts'
import { createUnpacker, type Unpacker } from './restore/unpack.ts'
import { entryOf, nextHeader, skipPadding } from './tar.ts'

export const DATABASE = 'headland.db'
export const KEY = 'master.key'

export type VerifyOptions = { signal?: AbortSignal; onProgress?(progress: { files: number; bytes: number }): void }

export type Verified = {
  head: Head
  files: number
  bytes: number
  /** Paths that its rows refer to, and that were lost before it was made. */
  missing: string[]
  /** Why its origin is not proven, if the user accepted that. */
  unproven: string | undefined
}

/** The magic number of zstd (RFC 8878, section 3.1.1). */
const ZSTD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])

const PIECE_BYTES = 1024 * 1024

/** Memory that a compressed file may ask for, as a power of two: 128 MiB, the most that zstd itself takes unasked. */
const MAX_WINDOW_LOG = 27

/** Decompresses a compressed backup. */
export async function plain(source: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
  const iterator = source[Symbol.asyncIterator]()
  let start = Buffer.alloc(0)
  for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
    start = Buffer.concat([start, next.value])
    if (start.byteLength >= ZSTD.byteLength) break
  }
  async function* whole() {
    yield start
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value
  }
  if (!start.subarray(0, ZSTD.byteLength).equals(ZSTD)) return whole()
  // Errors, also those of the source, reach the reader of the stream.
  const params = { [constants.ZSTD_d_windowLogMax]: MAX_WINDOW_LOG }
  const unzip = createZstdDecompress({ chunkSize: PIECE_BYTES, params })
  return unzipped(pipeline(Readable.from(whole()), unzip, () => undefined))
}

async function* unzipped(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* stream
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw code?.startsWith('ZSTD') || code === 'Z_BUF_ERROR' ? broken('it cannot be unzipped', { cause }) : cause
  }
}

export type First = { head: Head; line: string }

export async function readHead(bytes: Bytes): Promise<First> {
  const notOne = (cause?: unknown) =>
    new BackupRefused('This is not a backup of Headland, or only the beginning of one.', { cause })
  const raw = await nextHeader(bytes).catch((cause) => Promise.reject(notOne(cause)))
  const entry = raw && entryOf(raw)
  if (entry?.path !== HEAD || entry.kind !== 'file' || entry.size > 64 * 1024) throw notOne()
  const body = await bytes.take(entry.size)
  await skipPadding(bytes, entry.size)
  const head = parse(body)
  if (head.format !== FORMAT && head.format !== FORMAT_WITHOUT_TAG)
    throw new BackupRefused(`The backup has format ${head.format}, and this Headland reads up to ${FORMAT}.`)
  const newest = MIGRATIONS.at(-1)?.id ?? 0
  if (head.schema > newest)
    throw new BackupRefused(
      `The backup was made by a newer Headland (${head.headland}, schema ${head.schema}; this one knows ${newest}). Restore it with that one.`,
    )
  return { head, line: lineOf(entry, createHash('sha256').update(body).digest('hex')) }
}

const VERSION = /^[\w.+-]{1,64}$/
const KEY_ID = /^[0-9a-f]{16}$/
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** Every field is checked, since it is shown to people. */
function parse(body: Buffer): Head {
  let cause: unknown
  try {
    const { format, headland, schema, keyId, hasKey, createTime } = JSON.parse(body.toString())
    const isHead =
      Number.isSafeInteger(format) &&
      VERSION.test(String(headland)) &&
      Number.isSafeInteger(schema) &&
      schema >= MIN_SCHEMA &&
      (keyId === null || KEY_ID.test(String(keyId))) &&
      TIME.test(String(createTime))
    if (isHead) return { format, headland: `${headland}`, schema, keyId, hasKey: hasKey === true, createTime }
  } catch (error) {
    cause = error
  }
  throw broken('its first entry cannot be read', { cause })
}

type Verifying = {
  bytes: Bytes
  first: First
  folder: string
  openForeignSql: OpenForeignSql
  proof: Proof
  /** Whether a backup without proof is accepted. */
  isTrusted: boolean
  isWanted(path: string): boolean
}

/** Including the users of its outputs. */
export async function verify(
  given: Verifying,
  options: VerifyOptions,
): Promise<{ verified: Verified; owners: Map<string, number> }> {
  const { bytes, first, folder, proof, isTrusted, isWanted } = given
  if (proof.unproven !== undefined && !isTrusted) throw refuseUnproven(proof.unproven)
  const freeSpace = createFreeSpace(folder)
  const unpacker = createUnpacker({ folder, isWanted, freeSpace, signal: options.signal })
  const count = await takeAll(given, unpacker, options)
  const unproven = endProof(proof, await readTag(bytes, first.head))
  if (unproven !== undefined && !isTrusted) throw refuseUnproven(unproven)
  await unpacker.finish()
  if (!unpacker.has(DATABASE)) throw broken('it has no database')
  if (unpacker.has(KEY) !== first.head.hasKey) throw broken('it does not say whether it has the key')
  if (!(await bytes.isOver())) throw broken('something follows its end')
  const { facts, contents, owners } = await readDatabase(given, options.signal)
  if (facts.schema !== first.head.schema || facts.keyId !== first.head.keyId)
    throw broken('it is not what its first entry says')
  const { archives, outputs, packages } = contents
  const due = [...archives, ...outputs, ...packages].filter(({ isDue }) => isDue)
  const missing = due.filter(({ path }) => !unpacker.has(path)).map(({ path }) => path)
  return { verified: { head: first.head, ...count, missing, unproven }, owners }
}

async function readDatabase({ folder, openForeignSql, first }: Verifying, signal: AbortSignal | undefined) {
  const sql = await openForeignSql(join(folder, DATABASE), { signal }).catch(damaged)
  try {
    await examineSchema(sql, first.head.schema)
    const facts = await examineDatabase(sql)
    return { facts, contents: await contentsOf(sql, facts.schema), owners: await readOwners(sql) }
  } catch (error) {
    signal?.throwIfAborted()
    return damaged(error as Error)
  } finally {
    await sql.close()
  }
}

/** An error such as a full disk is not a fault of the backup. */
function damaged(cause: Error): never {
  throw cause instanceof StorageUnavailable
    ? cause
    : broken(`its database cannot be used (${cause.message})`, { cause })
}

/** Reads what follows the list, up to the end. */
async function readTag(bytes: Bytes, head: Head): Promise<string> {
  let text = ''
  if (hasTag(head)) {
    const raw = await nextHeader(bytes)
    if (!raw || !isDeepStrictEqual(entryOf(raw), atEnd(TAG, TAG_BYTES, head))) throw broken('its list has no tag')
    text = (await bytes.take(TAG_BYTES)).toString('latin1')
    await skipPadding(bytes, TAG_BYTES)
  }
  if ((await nextHeader(bytes)) !== undefined) throw broken('something follows its list')
  return text
}

/** Reads every entry up to the list, which must match them. */
async function takeAll(
  { bytes, first, folder, proof }: Verifying,
  unpacker: Unpacker,
  { signal, onProgress }: VerifyOptions,
): Promise<{ files: number; bytes: number }> {
  const count = { files: 1, bytes: 0 }
  const seen = join(folder, LIST)
  const lines = openSync(seen, 'wx', 0o600)
  try {
    writeFileSync(lines, first.line)
    for (;;) {
      signal?.throwIfAborted()
      const raw = await nextHeader(bytes)
      if (!raw) throw broken('it has no list at its end')
      const entry = entryOf(raw)
      if (entry.path === LIST && entry.kind === 'file') {
        if (hasTag(first.head) && !isDeepStrictEqual(entry, atEnd(LIST, entry.size, first.head)))
          throw broken('its list is altered')
        await compare(bytes, entry.size, seen, proof)
        break
      }
      if (entry.path === HEAD) throw broken('it begins twice')
      writeFileSync(lines, lineOf(entry, await unpacker.take(entry, bytes)))
      count.files += 1
      count.bytes += entry.size
      onProgress?.(count)
    }
  } finally {
    closeSync(lines)
  }
  await rm(seen)
  return count
}

/**
 * Compares the list of the backup with the one of what was read. The first line that differs names the broken entry.
 */
async function compare(bytes: Bytes, size: number, seen: string, { tag }: Proof) {
  const lines = linesOf(createReadStream(seen))
  async function* tagged() {
    for await (const piece of bytes.pieces(size)) {
      tag?.update(piece)
      yield piece
    }
  }
  for await (const listed of linesOf(tagged())) {
    const { value: read } = await lines.next()
    if (!read) throw broken('its list has more than it holds')
    if (!read.equals(listed)) throw broken(`${JSON.stringify(JSON.parse(read.toString()).path)} is not as it is listed`)
  }
  if (!(await lines.next()).done) throw broken('it holds more than its list has')
  await skipPadding(bytes, size)
}

const MAX_LINE_BYTES = 64 * 1024

/** Lines without their ends; text after the last line end is a line, too. */
async function* linesOf(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, undefined> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const piece of source) {
    rest = rest.byteLength === 0 ? piece : Buffer.concat([rest, piece])
    for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
      yield rest.subarray(0, end)
      rest = rest.subarray(end + 1)
    }
    if (rest.byteLength > MAX_LINE_BYTES) throw broken('its list is malformed')
  }
  if (rest.byteLength > 0) yield rest
}
