/** Logs of which the closed parts are in an object store. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { appendFile, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { Secret, systemClock } from '../../src/base/index.ts'
import { openS3Store } from '../../src/storage/blobs/s3/blobs-s3.ts'
import { TIMEOUTS, type Timeouts } from '../../src/storage/blobs/s3/client.ts'
import { createLineLogs, type LineLogs, type LogLine, type Sql, statement } from '../../src/storage/index.ts'
import { createLogMoving, type LogMoving } from '../../src/storage/logs/log-moving.ts'
import { createChunkMoving } from '../../src/storage/logs/shared/chunk-moving.ts'
import { removeOlderRows, writePieces } from '../../src/storage/logs/shared/chunks.ts'
import { closed, readHead, writeHeads } from '../../src/storage/logs/shared/heads.ts'
import { createSharedLogs } from '../../src/storage/logs/shared/shared-logs.ts'
import { createStoredParts, type StoredParts } from '../../src/storage/logs/stored-parts.ts'
import { temporaryFolder } from '../support/folder.ts'
import { migratedSql } from '../support/sql.ts'
import type { Store } from './object-store.ts'

let prefixes = 0

/** Logs of one kind, and what is in the store beside them. */
export type StoredLogs = Awaited<ReturnType<typeof openStoredLogs>>
export type Kind = 'files' | 'rows'

type Given = { store: Store; kind?: Kind; changes?: Partial<Timeouts> }

export async function openStoredLogs(t: TestContext, { store, kind = 'files', changes = {} }: Given) {
  const { endpoint, secret, ...bucket } = store
  const [folder, cache, sql] = [await temporaryFolder(t), await temporaryFolder(t), await migratedSql(t)]
  const inStore = await openS3Store({
    bucket: { ...bucket, endpoint: new URL(endpoint), secret: new Secret(secret), isPathStyle: true },
    prefix: `stored-logs/${++prefixes}`,
    owner: 'tests',
    cache: { folder: cache, maxBytes: 0 },
    timeouts: { ...TIMEOUTS, ...changes },
  })
  t.after(inStore.close)
  const blobs = inStore.blobs({ folder: 'logs', isForCallers: true })
  const stored = createStoredParts({ sql, clock: systemClock, blobs })
  const held = { isHeld: false }
  const pathOf = (name: string) => pathIn(folder, name)

  return {
    ...{ folder, sql, blobs, stored, held, pathOf },
    ...(kind === 'files' ? inFiles(folder, stored, held) : inRows(sql, stored)),
    /** Copies on the disk are not kept in these tests, but the file that was just used is. */
    async emptyCache() {
      for (const name of await readdir(cache)) if (name !== 'aside') await rm(join(cache, name), { recursive: true })
    },
  }
}

type Lines = {
  logs: LineLogs
  moving: LogMoving
  /** Lines of these numbers, as a writer leaves them. */
  write(name: string, from: number, to: number): Promise<void>
  /** The newer part becomes the older one, as when the log is full. */
  rotate(name: string): Promise<void>
  /** Whether lines are elsewhere than in the store. */
  isHere(name: string): Promise<boolean>
}

const pathIn = (folder: string, name: string, suffix = ''): string => join(folder, `${name}${suffix}.log`)

function inFiles(folder: string, stored: StoredParts, held: { isHeld: boolean }): Lines {
  return {
    logs: createLineLogs(folder, { stored }),
    moving: createLogMoving({ folder, stored, isHeld: async () => held.isHeld }),
    async write(name, from, to) {
      await mkdir(dirname(pathIn(folder, name)), { recursive: true })
      await writeFile(pathIn(folder, name), textsOf(from, to).join(''))
    },
    rotate: (name) => rename(pathIn(folder, name), pathIn(folder, name, '.older')),
    isHere: async (name) => existsSync(pathIn(folder, name)) || existsSync(pathIn(folder, name, '.older')),
  }
}

/** In each of the rows that the tests write. */
const LINES_IN_ROW = 500

function inRows(sql: Sql, stored: StoredParts): Lines {
  async function writeRow(name: string, from: number, to: number) {
    const numbers = { firstNumber: from, lastNumber: to, firstTime: from, writeId: `write ${from}` }
    const piece = { name, lines: textsOf(from, to).join(''), ...numbers, whenFull: 'stop', maxBytes: 1e9 } as const
    await sql.transaction((tx) => writePieces(tx, [piece], stored.last))
  }
  return {
    logs: createSharedLogs({ sql, clock: systemClock, stored }),
    moving: createChunkMoving({ sql, stored }),
    async write(name, from, to) {
      for (let at = from; at <= to; at += LINES_IN_ROW) await writeRow(name, at, Math.min(to, at + LINES_IN_ROW - 1))
    },
    async rotate(name) {
      await sql.transaction(async (tx) => {
        const head = await readHead(tx, name)
        assert.ok(head)
        await removeOlderRows(tx, head)
        await writeHeads(tx, [closed(head, head.last_number + 1)])
      })
    },
    async isHere(name) {
      const [row] = await sql.query(statement`SELECT log_name FROM log_chunks WHERE log_name = ${name} LIMIT 1`)
      return row !== undefined
    },
  }
}

const textsOf = (from: number, to: number): string[] =>
  upTo(to, from).map((number) => `${JSON.stringify(lineOf(number))}\n`)

const lineOf = (number: number): LogLine => ({
  number,
  time: number,
  stream: 'stdout',
  phase: 'LIVE',
  text: `line ${number}`,
})

const numbersIn = (lines: readonly { number: number }[]): number[] => lines.map(({ number }) => number)
const upTo = (last: number, from = 1): number[] => Array.from({ length: last - from + 1 }, (_, at) => from + at)

export function storedLogsSuite(name: string, storeOf: (t: TestContext) => Promise<Store>) {
  for (const kind of ['files', 'rows'] as const) {
    const open = async (t: TestContext) => openStoredLogs(t, { kind, store: await storeOf(t) })
    suite(`logs in ${kind} and ${name}`, () => {
      testBuilds(open)
      testApps(open)
      if (kind === 'files') testFiles(open)
    })
  }
}

type Open = (t: TestContext) => Promise<StoredLogs>

function testBuilds(open: Open) {
  test('the log of a build is read from the store, and is nowhere else', async (t) => {
    const { logs, moving, isHere, emptyCache } = await open(t)
    const log = await logs.create('builds/a', { secrets: [], whenFull: 'stop', maxBytes: 1e6 })
    log.say('PLANNING', 'Found Astro: “é”.')
    log.write('stdout', 'BUILDING', Buffer.from('done\n'))
    await log.close()
    const before = await logs.read('builds/a', 0)
    await moving.moveWhole('builds/a')
    await emptyCache()
    assert.equal(await isHere('builds/a'), false)
    assert.deepEqual(await logs.read('builds/a', 0), before)
    assert.deepEqual([await logs.lastNumber('builds/a'), before.length], [2, 2])
  })

  test('a large log is read piece by piece, whole and from a line on', async (t) => {
    const { logs, moving, write } = await open(t)
    await write('builds/large', 1, 50_000)
    await moving.moveWhole('builds/large')
    assert.deepEqual(numbersIn(await logs.read('builds/large', 0)), upTo(50_000))
    assert.deepEqual(numbersIn(await logs.read('builds/large', 49_990)), upTo(50_000, 49_991))
  })

  test('a reader that stops early leaves nothing open', async (t) => {
    const { logs, moving, blobs, write } = await open(t)
    await write('builds/large', 1, 50_000)
    await moving.moveWhole('builds/large')
    for await (const lines of logs.pieces('builds/large', 0)) if (lines.length > 0) break
    await logs.remove('builds/large')
    for (const digest of await blobs.list()) assert.equal(await blobs.remove(digest), true)
  })

  test('a stream goes on with the store where the lines go away under it', async (t) => {
    const { logs, moving, write } = await open(t)
    await write('builds/a', 1, 5)
    const lines = logs.follow('builds/a', 0, async () => true, new AbortController().signal)
    const seen = [(await lines.next()).value?.number]
    await moving.moveWhole('builds/a')
    for await (const { number } of lines) seen.push(number)
    assert.deepEqual(seen, upTo(5))
  })

  test('a log that is removed is not listed or read any more, and others stay', async (t) => {
    const { logs, moving, stored, blobs, write } = await open(t)
    await write('builds/a', 1, 3)
    await write('builds/b', 1, 4)
    for (const log of ['builds/a', 'builds/b']) await moving.moveWhole(log)
    assert.deepEqual((await logs.list('builds')).toSorted(), ['builds/a', 'builds/b'])
    await logs.remove('builds/a')
    assert.deepEqual([await logs.list('builds'), await logs.read('builds/a', 0)], [['builds/b'], []])
    // Blobs that were just put stay: their rows may not be written yet.
    assert.deepEqual([await stored.collect(async () => false), (await blobs.list()).length], [0, 2])
    assert.deepEqual(numbersIn(await logs.read('builds/b', 0)), upTo(4))
  })

  test('lines that others deleted from the store are a line that says so', async (t) => {
    const { logs, moving, blobs, write, emptyCache } = await open(t)
    await write('builds/a', 1, 3)
    await moving.moveWhole('builds/a')
    for (const digest of await blobs.list()) await blobs.remove(digest)
    await emptyCache()
    await logs.fetch('builds/a', 0)
    assert.deepEqual(
      (await logs.read('builds/a', 0)).map(({ text }) => text),
      ['Lines 1 to 3 are missing: the object store does not have them any more.'],
    )
  })

  test('what is in the store counts as used', async (t) => {
    const { logs, moving, write } = await open(t)
    await write('builds/a', 1, 1000)
    const before = await logs.bytesOf('builds/a')
    await moving.moveWhole('builds/a')
    const after = await logs.bytesOf('builds/a')
    assert.ok(after > 0 && after < before / 4, `${after} of ${before}`)
  })
}

function testApps(open: Open) {
  test('the closed part of an app’s log is moved, and the lines are read in order', async (t) => {
    const { logs, moving, write, rotate, emptyCache } = await open(t)
    await write('runtime/e', 1, 10)
    await rotate('runtime/e')
    await write('runtime/e', 11, 15)
    await moving.moveClosed('runtime/e')
    await emptyCache()
    assert.deepEqual(await moving.list('runtime', { isClosed: true }), [])
    assert.deepEqual(numbersIn(await logs.read('runtime/e', 0)), upTo(15))
    assert.deepEqual(numbersIn(await logs.read('runtime/e', 12)), upTo(15, 13))
  })

  test('a closed part takes the place of the one before it, as on the disk', async (t) => {
    const { logs, moving, stored, write, rotate } = await open(t)
    await write('runtime/e', 1, 10)
    await rotate('runtime/e')
    await write('runtime/e', 11, 20)
    await moving.moveClosed('runtime/e')
    await rotate('runtime/e')
    await write('runtime/e', 21, 25)
    assert.deepEqual(numbersIn(await logs.read('runtime/e', 0)), upTo(25))
    await moving.moveClosed('runtime/e')
    assert.deepEqual(numbersIn(await logs.read('runtime/e', 0)), upTo(25, 11))
    assert.equal((await stored.of('runtime/e')).length, 1)
  })
}

function testFiles(open: Open) {
  test('what was cut off after each step is done by the next attempt, once', async (t) => {
    const { logs, moving, stored, held, blobs, pathOf, write, isHere } = await open(t)
    await write('builds/a', 1, 3)
    // The blob was stored, and nothing else happened.
    await blobs.put(onlyChunk(Buffer.from('a blob without a row')))
    await stored.keep('builds/a', pathOf('builds/a'))
    // The row was written, and the file is still there.
    assert.deepEqual(numbersIn(await logs.read('builds/a', 0)), upTo(3))
    held.isHeld = true
    await moving.moveWhole('builds/a')
    assert.equal(await isHere('builds/a'), true)
    held.isHeld = false
    await moving.moveWhole('builds/a')
    assert.equal(await isHere('builds/a'), false)
    assert.deepEqual([(await stored.of('builds/a')).length, (await blobs.list()).length], [1, 2])
    assert.deepEqual(numbersIn(await logs.read('builds/a', 0)), upTo(3))
  })

  test('an empty log is removed, and a line that was cut off is left out', async (t) => {
    const { logs, moving, stored, pathOf, write } = await open(t)
    await write('builds/empty', 1, 0)
    await write('builds/torn', 1, 2)
    await appendFile(pathOf('builds/torn'), '{"number":3,"ti')
    for (const log of ['builds/empty', 'builds/torn']) await moving.moveWhole(log)
    assert.deepEqual(await stored.list('builds'), ['builds/torn'])
    assert.deepEqual(numbersIn(await logs.read('builds/torn', 0)), [1, 2])
    assert.deepEqual(await readdir(dirname(pathOf('builds/torn'))), [])
  })

  test('a closed part stays while the log has no later line, since its numbers go on from there', async (t) => {
    const { logs, moving, write, rotate, isHere } = await open(t)
    await write('runtime/e', 1, 10)
    await rotate('runtime/e')
    await moving.moveClosed('runtime/e')
    assert.equal(await isHere('runtime/e'), true)
    const log = await logs.create('runtime/e', { secrets: [], whenFull: 'rotate', maxBytes: 1e6 })
    log.say('LIVE', 'again')
    await log.close()
    assert.equal(await logs.lastNumber('runtime/e'), 11)
  })

  test('on a new disk, numbers go on from what is in the store', async (t) => {
    const { logs, moving, write, rotate, folder } = await open(t)
    await write('runtime/e', 1, 10)
    await rotate('runtime/e')
    await write('runtime/e', 11, 12)
    await moving.moveClosed('runtime/e')
    await rm(join(folder, 'runtime'), { recursive: true })
    const firstNumber = await logs.nextNumber('runtime/e')
    // As the agent does it, which has no store.
    const log = await createLineLogs(folder).create('runtime/e', {
      ...{ secrets: [], whenFull: 'rotate', maxBytes: 1e6, firstNumber },
    })
    log.say('LIVE', 'again')
    await log.close()
    assert.deepEqual(numbersIn(await logs.read('runtime/e', 0)), upTo(11))
  })
}

async function* onlyChunk(bytes: Buffer) {
  yield bytes
}
