/**
 * Selects the files to send out of what was dropped, each with its path. Folders that are left out are not read. What
 * the service would refuse is refused here, before anything is sent, with a message about the file. Reading stops at
 * limits that a browser tab can handle.
 */
import { CallFailed, noAnswer } from '../api/problem.ts'
import { bytes as inWords } from '../components/facts/format.ts'
import { faultOfName, faultOfPath, fold, isLocalSetting, isNeverSent, shown } from './names.ts'
import { type Listing, RULE_FILES, type RuleTexts } from './rules.ts'

/** A file or folder in a tree that is read step by step. */
export type TreeEntry =
  | { kind: 'file'; name: string; open(): Promise<File> }
  | { kind: 'folder'; name: string /** Some at a time, until there are no more. */; list(): AsyncIterable<TreeEntry[]> }

export type Chosen = { path: string; file: File }

export type Selection = {
  files: Chosen[]
  /** Local settings, which are not part of `files`. */
  localSettings: Chosen[]
  leftOut: LeftOut
}

/** The first few by name, folders with a slash, and how many there are. */
export type LeftOut = { names: string[]; count: number }

export type Judge = { judge(listing: Listing): Promise<boolean[]>; end(): void }

export type SelectLimits = { entries: number; files: number; bytes: number; ruleBytes: number; named: number }

/** A zip without extensions holds 65,535 files; the byte limit is the default of the service. */
export const SELECT_LIMITS: SelectLimits = {
  entries: 250_000,
  files: 65_535,
  bytes: 2 * 1024 * 1024 * 1024,
  ruleBytes: 256 * 1024,
  named: 6,
}

type Options = {
  judge: Judge['judge']
  signal: AbortSignal
  onProgress(entries: number): void
  limits?: SelectLimits
}

const OPENED_AT_ONCE = 64
const PAUSE_EVERY_MS = 20

export async function selectFiles(given: readonly TreeEntry[], options: Options): Promise<Selection> {
  const { judge, signal, onProgress, limits = SELECT_LIMITS } = options
  const selection: Selection = { files: [], localSettings: [], leftOut: { names: [], count: 0 } }
  let entries = 0
  let bytes = 0
  let pausedAt = performance.now()

  function count(more: number) {
    entries += more
    onProgress(entries)
    if (entries > limits.entries)
      throw tooLarge(`There are more than ${limits.entries.toLocaleString('en')} files and folders in it`)
  }

  /** Yields to the page now and then, and stops when the user cancelled. */
  async function pause() {
    signal.throwIfAborted()
    if (performance.now() - pausedAt < PAUSE_EVERY_MS) return
    await new Promise((resolve) => setTimeout(resolve))
    pausedAt = performance.now()
    signal.throwIfAborted()
  }

  function leaveOut(path: string, { kind }: TreeEntry) {
    selection.leftOut.count++
    if (selection.leftOut.names.length < limits.named)
      selection.leftOut.names.push(`${shown(path)}${kind === 'folder' ? '/' : ''}`)
  }

  async function listAll(folder: TreeEntry & { kind: 'folder' }, at: string): Promise<TreeEntry[]> {
    const all: TreeEntry[] = []
    try {
      for await (const some of folder.list()) {
        await pause()
        count(some.length)
        for (const entry of some) all.push(entry)
      }
    } catch (error) {
      throw error instanceof DOMException && !signal.aborted ? unreadable(at, error) : error
    }
    return all
  }

  async function walk(at: string, all: readonly TreeEntry[]): Promise<void> {
    await pause()
    const pathOf = ({ name }: TreeEntry): string => (at === '' ? name : `${at}/${name}`)
    const asked: TreeEntry[] = []
    for (const entry of all) {
      // Rules are checked for valid names only.
      if (NO_NAME.test(entry.name)) throw refusedName(pathOf(entry), faultOfName(entry.name))
      if (isNeverSent(pathOf(entry))) leaveOut(pathOf(entry), entry)
      else asked.push(entry)
    }
    const isOut = await judge({
      folder: at,
      texts: await textsIn(asked, limits),
      names: asked.map(({ name, kind }) => ({ name, isFolder: kind === 'folder' })),
    })
    const kept = asked.filter((_, index) => !isOut[index])
    for (const [index, entry] of asked.entries()) if (isOut[index]) leaveOut(pathOf(entry), entry)
    checkNames(kept.map((entry) => ({ name: entry.name, path: pathOf(entry) })))

    const files = kept.filter((entry) => entry.kind === 'file')
    // Checked before any file is opened, since opening a hundred thousand takes long.
    if (selection.files.length + selection.localSettings.length + files.length > limits.files)
      throw tooLarge(`There are more than ${limits.files.toLocaleString('en')} files to send, which a zip cannot hold`)
    for (let first = 0; first < files.length; first += OPENED_AT_ONCE) {
      await pause()
      const some = files.slice(first, first + OPENED_AT_ONCE)
      for (const chosen of await Promise.all(some.map((entry) => open(entry, pathOf(entry))))) take(chosen)
    }
    for (const entry of kept)
      if (entry.kind === 'folder') await walk(pathOf(entry), await listAll(entry, pathOf(entry)))
  }

  function take(chosen: Chosen) {
    const list = isLocalSetting(chosen.path) ? selection.localSettings : selection.files
    list.push(chosen)
    bytes += chosen.file.size
    if (bytes > limits.bytes) throw tooLarge(`There are more than ${inWords(limits.bytes)} to send`)
  }

  // A single folder is the project itself, so its name is not part of the paths.
  const [first] = given
  count(given.length)
  if (given.length === 1 && first?.kind === 'folder') await walk('', await listAll(first, first.name))
  else await walk('', given)
  if (selection.files.length + selection.localSettings.length === 0) throw nothing(selection.leftOut.count > 0)
  return selection
}

async function open(entry: TreeEntry & { kind: 'file' }, path: string): Promise<Chosen> {
  const file = await entry.open().catch((error) => {
    throw unreadable(path, error)
  })
  return { path, file }
}

/** An ignore file that is a folder is skipped, as git does; one that is too large is refused. */
async function textsIn(entries: readonly TreeEntry[], { ruleBytes }: SelectLimits): Promise<RuleTexts> {
  async function textOf(name: string): Promise<string> {
    const entry = entries.find((each) => each.name === name)
    if (entry?.kind !== 'file') return ''
    const { file } = await open(entry, name)
    if (file.size > ruleBytes)
      throw refused(name, `it is larger than ${inWords(ruleBytes)}, and may hold rules. Shorten it`)
    return file.text()
  }
  return { git: await textOf(RULE_FILES.git), own: await textOf(RULE_FILES.own) }
}

/** Checks the names in one folder: each alone, and for collisions. */
function checkNames(siblings: readonly { name: string; path: string }[]) {
  const seen = new Map<string, string>()
  for (const { name, path } of siblings) {
    const fault = faultOfName(name) ?? faultOfPath(path)
    if (fault) throw refusedName(path, fault)
    const same = seen.get(fold(name))
    if (same !== undefined)
      throw refused(path, `its name differs from ${shown(same)} in case or spelling only. Rename one of them`)
    seen.set(fold(name), path)
  }
}

const NO_NAME = /^\.{0,2}$|\//

const problem = (reason: string, message: string): CallFailed => new CallFailed({ ...noAnswer(), reason, message })
const refused = (path: string, why: string) => problem('ARCHIVE_ENTRY_UNSAFE', `${shown(path)}: ${why}.`)
const refusedName = (path: string, fault: string | undefined) =>
  refused(path, `${fault}. Rename it, or leave it out with a line in .headlandignore`)
const unreadable = (path: string, { message }: Error) =>
  problem('ARCHIVE_ENTRY_UNSAFE', `${shown(path)} cannot be read: ${message}`)
const tooLarge = (what: string) =>
  problem(
    'ARCHIVE_TOO_LARGE',
    `${what}. Leave some of it out with a .headlandignore file, or deploy it by the command line.`,
  )
const nothing = (isLeftOut: boolean) =>
  problem(
    'ARCHIVE_EMPTY',
    isLeftOut ? 'Everything in it is left out: there is nothing to send.' : 'There is no file in it.',
  )
