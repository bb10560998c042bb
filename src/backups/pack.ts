/**
 * Makes a backup, as the bytes of a tar: takes a retention hold on the files, copies the database, then reads everything that
 * its rows refer to, and lists it at the end. The service goes on meanwhile; a backup without its end is invalid.
 */
import { closeSync, openSync, writeFileSync } from 'node:fs'
import { mkdir, rm, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type Clock, checkId, type NewId, removeTree, repeat } from '../base/index.ts'
import { createRetentionHolds, MIGRATIONS, type RetentionHold, SchemaForeign, type Sql } from '../storage/index.ts'
import { END } from '../tar/index.ts'
import { type Contents, contentsOf, type Part } from './contents.ts'
import { DatabaseDamaged } from './damaged.ts'
import { copyDatabase, examineDatabase, examineSchema, type Facts, type OpenSql, releaseAll } from './database.ts'
import { atEnd, type BackupEntry, BackupRefused, FORMAT, HEAD, type Head, LIST, lineOf, MAX, TAG } from './entry.ts'
import { opaqueAmong } from './marks.ts'
import { createPieces, type Pieces } from './pieces.ts'
import { startTag, type Tag, writtenTag } from './proof.ts'
import { createDisk, type Disk, type FoundFile, openFile } from './read-disk.ts'
import { checkOwnKey, type FoundKey } from './restore/keys.ts'

export type PackParts = {
  sql: Sql
  clock: Clock
  newId: NewId
  dataDir: string
  openSql: OpenSql
  /** For a database that is not SQLite. */
  copyDatabase?: ((sql: Sql, file: string) => Promise<void>) | undefined
  /** The version of this Headland. */
  version: string
}

export type PackOptions = {
  /** The master key, which authenticates the backup. A service has none before its first start. */
  key?: FoundKey | undefined
  /** Whether the key itself is included. */
  isKeyInside?: boolean
  /** The file that is being written, which the next backup removes if this one dies. */
  draft?: string | undefined
  signal?: AbortSignal
  onProgress?(progress: { files: number; bytes: number }): void
}

/** Known when all bytes were read. */
export type Packed = {
  files: number
  /** The size of the files, before they are packed. */
  bytes: number
  keyId: string | null
  /** Paths that rows refer to, and that were lost before. */
  missing: string[]
  /** Archives whose bytes do not match their digest. */
  damaged: string[]
  /** Files with names that are not UTF-8, and kinds such as sockets. */
  leftOut: string[]
}

const RENEW_MS = 30_000
/** Lines of the list are written together. */
const LIST_TEXT_LENGTH = 256 * 1024

export type Pack = {
  bytes: AsyncIterable<Buffer>
  /** May be called with a piece of the bytes that is no longer used. It will hold other bytes. */
  giveBack(piece: Buffer): void
  packed: Packed
}

export function pack(parts: PackParts, options: PackOptions = {}): Pack {
  const packed: Packed = { files: 0, bytes: 0, keyId: null, missing: [], damaged: [], leftOut: [] }
  const pieces = createPieces()
  return { bytes: packInto({ packed, pieces }, parts, options), giveBack: pieces.giveBack, packed }
}

type Into = { packed: Packed; pieces: Pieces }

async function* packInto({ packed, pieces }: Into, parts: PackParts, options: PackOptions): AsyncGenerator<Buffer> {
  const { clock, dataDir, version } = parts
  const holds = createRetentionHolds(parts)
  for (const { id, draft } of await holds.abandoned()) {
    await removeTree(scratchOf(dataDir, id))
    if (draft !== null && isDraft(draft)) await rm(draft, { force: true })
    await holds.forget(id)
  }
  const hold = await holds.take(options.draft ?? null)
  const stopHolding = keepRenewing(hold, clock)
  const scratch = scratchOf(dataDir, hold.id)
  try {
    await mkdir(scratch, { mode: 0o700 })
    const database = join(scratch, 'headland.db')
    const { facts, contents } = await copyAndRead(parts, database)
    packed.keyId = facts.keyId
    checkOwnKey(options.key, facts.keyId)
    const key = facts.keyId === null ? undefined : options.key
    const keyInside = options.isKeyInside ? key : undefined
    const tag = key && startTag(key)
    const head: Head = {
      format: FORMAT,
      headland: version,
      schema: facts.schema,
      keyId: facts.keyId,
      hasKey: keyInside !== undefined,
      createTime: new Date(clock.now()).toISOString(),
    }
    // The operator who makes a backup may be another user than the service.
    const owner = await stat(dataDir)
    const disk = createDisk(dataDir)
    packed.leftOut = disk.leftOut
    const list = join(scratch, LIST)
    yield* entries({ packed, pieces }, { list, tag }, options, async function* () {
      yield [inMemory(HEAD, `${JSON.stringify(head, undefined, 2)}\n`, clock)]
      yield [ownedAs(owner, openFile(database, 'headland.db'))]
      if (keyInside) yield [ownedAs(owner, inMemory('master.key', `${keyInside.text}\n`, clock))]
      yield* foundOf(disk, contents, packed)
    })
    // No file may have been removed while it was read.
    await hold.renew()
    const listed = openFile(list, LIST)
    yield* pieces.addEntry({ ...listed, entry: atEnd(LIST, listed.entry.size, head) })
    const proof = tag && inMemory(TAG, writtenTag(tag), clock)
    if (proof) yield* pieces.addEntry({ ...proof, entry: atEnd(TAG, proof.entry.size, head) })
    yield* pieces.add(END)
    yield pieces.rest()
  } finally {
    await stopHolding()
    await removeTree(scratch)
    await hold.release()
  }
}

/** The id may come from a row that another process left. */
const scratchOf = (dataDir: string, holdId: string): string => join(dataDir, `backup-${checkId(holdId)}`)

/** The ends of the names of drafts. The path comes from a row: nothing else is ever removed. */
export const draftOf = (file: string, random: string): string => `${file}.partial-${random}`
const isDraft = (path: string): boolean => resolve(path) === path && /\.partial-[\w-]{43}$/.test(path)

async function copyAndRead(parts: PackParts, file: string): Promise<{ facts: Facts; contents: Contents }> {
  const { sql, openSql } = parts
  // SQLite would make it readable by every user.
  await writeFile(file, '', { flag: 'wx', mode: 0o600 })
  await (parts.copyDatabase ?? copyDatabase)(sql, file)
  const copy = await openSql(file)
  try {
    // Anything that a restore would refuse is an error now, while it can still be mended.
    await examineSchema(copy, MIGRATIONS.at(-1)?.id ?? 0)
    await releaseAll(copy)
    const facts = await examineDatabase(copy)
    return { facts, contents: await contentsOf(copy, facts.schema) }
  } catch (error) {
    if (!(error instanceof SchemaForeign) && !(error instanceof DatabaseDamaged)) throw error
    throw new BackupRefused(`A backup of this database could not be restored: ${error.message}`, { cause: error })
  } finally {
    await copy.close()
  }
}

/** Until it is stopped. A renewal that fails is ignored: the last one shows whether the files were held all the time. */
const keepRenewing = (hold: RetentionHold, clock: Clock) =>
  repeat(clock, RENEW_MS, () => hold.renew().catch(() => undefined)).stop

/** Groups, as waiting for each single file would add to its cost. */
type Groups = AsyncGenerator<Iterable<FoundFile>>

/** In the order in which they can be restored: a folder before its content. */
async function* foundOf(disk: Disk, contents: Contents, packed: Packed): Groups {
  const made = new Set<string>()
  /** The parent folders, each once. */
  function* above(path: string): Generator<FoundFile> {
    const names = path.split('/')
    for (let count = 1; count < names.length; count++) {
      const folder = names.slice(0, count).join('/')
      const found = made.has(folder) ? undefined : disk.find(folder)
      made.add(folder)
      if (found) yield found
    }
  }
  /** With its parent folders; empty if it is missing. */
  function top({ path, isDue }: Part, kind: BackupEntry['kind']): FoundFile[] {
    const found = disk.find(path)
    if (found?.entry.kind === kind) return [...above(path), found]
    if (isDue) packed.missing.push(path)
    return []
  }

  for (const part of contents.archives) yield top(part, 'file')
  for (const part of [...contents.outputs, ...contents.packages]) {
    const found = top(part, 'folder')
    yield found
    if (found.length > 0) yield disk.tree(part.path, await marksIn(disk, part.path))
  }
  yield disk.written('logs')
  for (const path of contents.values) {
    if (!disk.find(path)) continue
    yield above(path)
    yield disk.written(path)
  }
}

/** Only layered folders have marks: an output over its source, and packages. */
async function marksIn(disk: Disk, path: string) {
  if (path.startsWith('outputs/') && !disk.find(`${path}/source`)) return undefined
  return opaqueAmong(disk.dataDir, disk.foldersIn(path))
}

/** The headers and bytes of the files, and the list of them in a file. */
async function* entries(
  { packed, pieces }: Into,
  { list, tag }: { list: string; tag: Tag | undefined },
  { signal, onProgress }: PackOptions,
  found: () => Groups,
): AsyncGenerator<Buffer> {
  const lines = openSync(list, 'wx', 0o600)
  let text = ''
  let nameBytes = 0
  function write() {
    tag?.update(text)
    writeFileSync(lines, text)
    text = ''
  }
  try {
    for await (const group of found()) {
      for (const one of group) {
        signal?.throwIfAborted()
        const { entry } = one
        const sha256 = yield* pieces.addEntry(one)
        if (entry.path.startsWith('blobs/') && sha256 && !entry.path.endsWith(sha256)) packed.damaged.push(entry.path)
        text += lineOf(entry, sha256)
        if (text.length > LIST_TEXT_LENGTH) write()
        packed.files += 1
        nameBytes += entry.path.length + (entry.to?.length ?? 0)
        if (packed.files > MAX.entries || nameBytes > MAX.nameBytes) throw tooMany()
        packed.bytes += entry.size
        onProgress?.(packed)
      }
    }
    write()
  } finally {
    closeSync(lines)
  }
}

const tooMany = (): BackupRefused =>
  new BackupRefused(
    `The data folder has more than ${MAX.entries} files, which no restore takes. Keep fewer deployments.`,
  )

const ownedAs = ({ uid, gid }: { uid: number; gid: number }, { entry, ...more }: FoundFile): FoundFile => ({
  entry: { ...entry, uid, gid, mode: 0o600 },
  ...more,
})

function inMemory(path: string, text: string, clock: Clock): FoundFile {
  const bytes = Buffer.from(text)
  let from = 0
  function read(target: Buffer, at: number, count: number): number {
    const copied = bytes.copy(target, at, from, from + count)
    from += copied
    return copied
  }
  const time = Math.floor(clock.now() / 1000)
  return {
    entry: { path, kind: 'file', mode: 0o600, uid: 0, gid: 0, time, size: bytes.byteLength },
    source: { read, close: () => undefined },
  }
}
