/**
 * Reads a backup to its end and believes nothing: each entry must be one that may be there, the list must say of each what was
 * read, and the database must be whole and be that of the first entry.
 */
import { createHash } from 'node:crypto'
import { closeSync, createReadStream, openSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline, Readable } from 'node:stream'
import { createZstdDecompress } from 'node:zlib'
import { MIGRATIONS, StorageUnavailable } from '../storage/index.ts'
import { contentsOf } from './contents.ts'
import { examineDatabase, type OpenSql } from './database.ts'
import { BackupRefused, broken, FORMAT, HEAD, type Head, LIST, lineOf } from './entry.ts'
import { type Bytes, entryOf, nextHeader, skipPadding } from './tar-read.ts'
import { createUnpacker, type Unpacker } from './unpack.ts'

export const DATABASE = 'headland.db'
export const KEY = 'master.key'

export type VerifyOptions = { signal?: AbortSignal; onProgress?(progress: { files: number; bytes: number }): void }

export type Verified = {
  head: Head
  files: number
  bytes: number
  /** Paths that its rows refer to, and that were lost before it was made. */
  missing: string[]
}

/** How zstd begins (RFC 8878, section 3.1.1). */
const ZSTD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])

const PIECE_BYTES = 1024 * 1024

/** What was compressed comes out plain. */
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
  // Whoever reads is told of a fault, be it one of the source.
  return unzipped(pipeline(Readable.from(whole()), createZstdDecompress({ chunkSize: PIECE_BYTES }), () => undefined))
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
  if (head.format !== FORMAT)
    throw new BackupRefused(`The backup has format ${head.format}, and this Headland reads ${FORMAT}.`)
  const newest = MIGRATIONS.at(-1)?.id ?? 0
  if (head.schema > newest)
    throw new BackupRefused(
      `The backup was made by a newer Headland (${head.headland}, schema ${head.schema}; this one knows ${newest}). Restore it with that one.`,
    )
  return { head, line: lineOf(entry, createHash('sha256').update(body).digest('hex')) }
}

function parse(body: Buffer): Head {
  try {
    const { format, headland, schema, keyId, hasKey, createTime } = JSON.parse(body.toString())
    return {
      format: Number(format),
      headland: String(headland),
      schema: Number(schema),
      keyId: keyId === null ? null : String(keyId),
      hasKey: hasKey === true,
      createTime: String(createTime),
    }
  } catch (cause) {
    throw broken('its first entry cannot be read', { cause })
  }
}

type Verifying = {
  bytes: Bytes
  first: First
  folder: string
  openSql: OpenSql
  isWanted(path: string): boolean
}

export async function verify(given: Verifying, options: VerifyOptions): Promise<Verified> {
  const { bytes, first, folder, openSql, isWanted } = given
  const unpacker = createUnpacker({ folder, isWanted })
  const count = await takeAll(given, unpacker, options)
  await unpacker.finish()
  if (!unpacker.has(DATABASE)) throw broken('it has no database')
  if (unpacker.has(KEY) !== first.head.hasKey) throw broken('it does not say whether it has the key')
  if (!(await bytes.isOver())) throw broken('something follows its end')
  const found = await readDatabase(join(folder, DATABASE), openSql)
  const { schema, keyId } = found.facts
  if (schema !== first.head.schema || keyId !== first.head.keyId) throw broken('it is not what its first entry says')
  const { archives, outputs, packages } = found.contents
  const due = [...archives, ...outputs, ...packages].filter(({ isDue }) => isDue)
  const missing = due.filter(({ path }) => !unpacker.has(path)).map(({ path }) => path)
  return { head: first.head, ...count, missing }
}

async function readDatabase(file: string, openSql: OpenSql) {
  const sql = await openSql(file).catch(damaged)
  try {
    return { facts: await examineDatabase(sql), contents: await contentsOf(sql) }
  } catch (error) {
    return damaged(error as Error)
  } finally {
    await sql.close()
  }
}

/** A disk that is full, say, is no fault of the backup. */
function damaged(cause: Error): never {
  throw cause instanceof StorageUnavailable
    ? cause
    : broken(`its database cannot be used (${cause.message})`, { cause })
}

/** Every entry up to the list, which must say of each what was read. */
async function takeAll(
  { bytes, first, folder }: Verifying,
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
        await compare(bytes, entry.size, seen)
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
  if ((await nextHeader(bytes)) !== undefined) throw broken('something follows its list')
  await rm(seen)
  return count
}

/** The list in the backup with the one of what was read. The first line that differs names what is broken. */
async function compare(bytes: Bytes, size: number, seen: string) {
  const lines = linesOf(createReadStream(seen))
  for await (const listed of linesOf(bytes.pieces(size))) {
    const { value: read } = await lines.next()
    if (!read) throw broken('its list has more than it holds')
    if (!read.equals(listed)) throw broken(`${JSON.stringify(JSON.parse(read.toString()).path)} is not as it is listed`)
  }
  if (!(await lines.next()).done) throw broken('it holds more than its list has')
  await skipPadding(bytes, size)
}

const LINE_BYTES_MOST = 64 * 1024

/** Without their ends; what follows the last end is a line, too. */
async function* linesOf(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, undefined> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const piece of source) {
    rest = rest.byteLength === 0 ? piece : Buffer.concat([rest, piece])
    for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
      yield rest.subarray(0, end)
      rest = rest.subarray(end + 1)
    }
    if (rest.byteLength > LINE_BYTES_MOST) throw broken('its list is not one')
  }
  if (rest.byteLength > 0) yield rest
}
