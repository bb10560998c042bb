/** Writes the data folder into one file while the service runs, and restores it. */
import { once } from 'node:events'
import { createReadStream, createWriteStream, existsSync, fstatSync } from 'node:fs'
import { Socket } from 'node:net'
import { dirname, relative, resolve } from 'node:path'
import { addAbortSignal } from 'node:stream'
import { isatty } from 'node:tty'
import {
  BackupRefused,
  checkBackup,
  draftOf,
  findKey,
  type Packed,
  pack,
  refuseExisting,
  restore,
  type Verified,
  writeBackup,
} from '../backups/index.ts'
import { bytesInWords, printableLine, randomToken } from '../base/index.ts'
import { EXIT, optionText, UsageError } from '../contract/index.ts'
import type { CommandCall, DataFolder } from './command.ts'
import { dumpCommand } from './database.ts'
import { notInBackup } from './object-store.ts'

const STREAM = '-'

export async function backUp(call: CommandCall): Promise<number> {
  const { positionals, options, services, folder } = call
  const [file = ''] = positionals
  const isStream = file === STREAM
  const path = resolve(file)
  if (isStream && isatty(1)) throw new UsageError('a backup is not for a terminal: send it to a file or a program')
  if (!folder.databaseUrl && !existsSync(folder.database))
    throw new BackupRefused(`There is no database in ${folder.dataDir}.`)
  if (!isStream && isInside(path, folder.dataDir))
    throw new BackupRefused(`${file} lies in the data folder. Choose a place that is not lost together with it.`)
  if (!isStream && options.force !== true) await refuseExisting(path)
  const isKeyInside = options['with-key'] === true
  const key = isKeyInside ? await requireKey(folder) : await findKey(folder.masterKey)

  const began = performance.now()
  const { sql, clock, newId } = await services()
  const draft = isStream ? undefined : draftOf(path, randomToken())
  using work = startWork()
  const { bytes, giveBack, packed } = pack({ sql, clock, newId, ...folder }, { ...work, key, isKeyInside, draft })
  const written = draft
    ? await writeBackup(bytes, path, { draft, isForced: options.force === true, giveBack })
    : await stream(bytes, giveBack, work.signal)
  work.end()
  packed.missing = packed.missing.filter(isLostIn(folder))
  warnOfFaults(packed, folder.dataDir)
  const elsewhere = await notInBackup(folder)
  if (elsewhere) warn(elsewhere)
  if (packed.keyId === null) warn(UNPROVEN)
  else if (!isKeyInside) warnOfKey(packed.keyId, folder)
  const dump = dumpCommand(folder)
  if (dump) warn(`the rows of PostgreSQL are in it as they were at one moment. In between, back them up by: ${dump}`)
  const seconds = secondsSince(began)
  if (written) {
    const { missing, damaged, leftOut } = packed
    const result = {
      file: path,
      ...written,
      files: packed.files,
      seconds,
      keyId: packed.keyId,
      missing,
      damaged,
      leftOut,
    }
    printResult(
      call,
      result,
      `${path}: ${amount({ ...packed, bytes: written.bytes })} in ${seconds} s\n${written.digest}`,
    )
  }
  return EXIT.done
}

export async function restoreBackup(call: CommandCall): Promise<number> {
  const { positionals, options, folder } = call
  const [file = ''] = positionals
  const began = performance.now()
  const keys = { ...folder.masterKey, named: optionText(options, 'key-file') }
  const parts = { ...folder, keys, isTrusted: options.trust === true }
  using work = startWork()
  // An interrupt also ends a read that waits for the next bytes.
  const source = addAbortSignal(
    work.signal,
    file === STREAM ? process.stdin : createReadStream(file, { highWaterMark: 1024 * 1024 }),
  )
  const isCheck = options.check === true
  const { head, files, bytes, unproven, ...verified } = await (isCheck
    ? checkBackup(parts, source, work)
    : restore(parts, source, work)
  ).catch((error) => {
    work.signal.throwIfAborted()
    return unreadable(file)(error)
  })
  work.end()
  if (unproven !== undefined) warn(`WARNING: nothing proves that this backup is yours: ${unproven}. ${DECIDES}`)
  const missing = verified.missing.filter(isLostIn(folder))
  warnOfMissing({ missing }, 'when the backup was made')
  const seconds = secondsSince(began)
  const made = `made ${head.createTime} by Headland ${head.headland}`
  const what = isCheck ? 'is whole' : `is restored to ${folder.dataDir}`
  const result = {
    file,
    files,
    bytes,
    seconds,
    ...head,
    isProven: unproven === undefined,
    missing,
    ...(isCheck ? {} : { dataDir: folder.dataDir }),
  }
  printResult(call, result, `The backup (${made}; ${amount({ files, bytes })}) ${what}, in ${seconds} s.`)
  return EXIT.done
}

/**
 * Writes to standard output. Not by `pipeline`, which does not wait until the source has cleaned up after itself, and not by
 * `process.stdout`, which cannot be closed while the reader at the other end of a pipe does not read.
 */
async function stream(
  bytes: AsyncIterable<Buffer>,
  giveBack: (piece: Buffer) => void,
  signal: AbortSignal,
): Promise<undefined> {
  const kind = fstatSync(1)
  const isPipe = kind.isFIFO() || kind.isSocket()
  const to = isPipe ? new Socket({ fd: 1, readable: false }) : createWriteStream('', { fd: 1, autoClose: false })
  const failing = new AbortController()
  to.once('error', (error: Error) => failing.abort(error))
  const either = AbortSignal.any([signal, failing.signal])
  try {
    for await (const piece of bytes) {
      const isBelowLimit = to.write(piece, () => giveBack(piece))
      if (!isBelowLimit) await once(to, 'drain', { signal: either })
    }
    await once(to.end(), 'finish', { signal: either })
  } catch (error) {
    to.destroy()
    either.throwIfAborted()
    throw error
  }
}

const isInside = (path: string, folder: string): boolean => !relative(folder, dirname(path)).startsWith('..')

const secondsSince = (began: number): number => Math.round((performance.now() - began) / 100) / 10

async function requireKey({ masterKey }: DataFolder) {
  const key = await findKey(masterKey)
  if (!key) throw new BackupRefused(`There is no master key in ${masterKey.file}, and none is given as a setting.`)
  return key
}

const unreadable =
  (file: string) =>
  (error: NodeJS.ErrnoException): never => {
    const isFile = error.syscall === 'open' && error.path === file
    throw isFile ? new BackupRefused(`${file} cannot be read: ${error.message}`, { cause: error }) : error
  }

/** Progress on a terminal, and a signal that is aborted by an interrupt, so that nothing is left behind. */
function startWork() {
  const stopping = new AbortController()
  const interrupt = () => stopping.abort(new BackupRefused('It was interrupted. Nothing was left behind.'))
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.once(signal, interrupt)
  const { stderr } = process
  let shownAt = 0

  function end() {
    if (shownAt > 0) stderr.write('\r\x1b[K')
    shownAt = 0
    for (const signal of signals) process.off(signal, interrupt)
  }
  return {
    signal: stopping.signal,
    onProgress(progress: { files: number; bytes: number }) {
      if (!stderr.isTTY || performance.now() - shownAt < 200) return
      shownAt = performance.now()
      stderr.write(`\r\x1b[K${amount(progress)}`)
    },
    end,
    [Symbol.dispose]: end,
  }
}

const amount = ({ files, bytes }: { files: number; bytes: number }): string =>
  `${inThousands(files)} files, ${bytesInWords(bytes)}`

/** 12,345. `toLocaleString` loads the tables of all languages, which takes as long as to read hundreds of files. */
const inThousands = (count: number): string => String(count).replace(/\B(?=(?:\d{3})+$)/g, ',')

function printResult({ options, print }: CommandCall, data: Record<string, unknown>, words: string) {
  print(options.json === true ? JSON.stringify(data) : words)
}

/** Paths and reasons may contain text of others, with control characters. */
function warn(text: string) {
  process.stderr.write(`headland: ${printableLine(text)}\n`)
}

const DECIDES = 'Its author decides what runs on this machine.'

const UNPROVEN =
  'this service has no master key yet, so nothing will prove that the backup is yours, and a restore needs --trust. Start the service once and back up again.'

function warnOfFaults({ missing, damaged, leftOut }: Packed, dataDir: string) {
  warnOfMissing({ missing }, `in ${dataDir}`)
  if (damaged.length > 0) warn(`archives that are not what they were: ${some(damaged)}. Upload them again.`)
  if (leftOut.length > 0) warn(`left out, as their names are not UTF-8 or they are no files: ${some(leftOut)}`)
}

function warnOfMissing({ missing }: Pick<Verified, 'missing'>, where: string) {
  if (missing.length > 0) warn(`already missing ${where}: ${some(missing)}. Rebuild the environments that use them.`)
}

/** Archives that are not in the data folder are in the object store, if there is one. */
const isLostIn =
  ({ objectStore }: DataFolder) =>
  (path: string): boolean =>
    objectStore === undefined || !path.startsWith('blobs/')

const some = (paths: readonly string[]): string =>
  [...paths.slice(0, 5), ...(paths.length > 5 ? [`${paths.length - 5} more`] : [])].join(', ')

function warnOfKey(keyId: string, { masterKey }: DataFolder) {
  const place = masterKey.given === undefined ? masterKey.file : 'the setting masterKey'
  warn(
    `the master key ${keyId} is not in the backup, and without it no restore is possible. Keep a copy of ${place} elsewhere.`,
  )
}
