/**
 * The content of a folder as the entries of a layer, in the order of their names. Owners and modes are the same whatever
 * the folder has, and marks of an overlay become those of images. Links are never followed.
 */
import { constants, type Dirent, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { sortInTurns } from '../../base/index.ts'
import { type Opaque, opaqueAmong } from '../../tar/index.ts'
import { APP_USER, type LayerEntry, OPAQUE, WHITEOUT } from './entry.ts'

export type Content = { entry: LayerEntry; bytes?: Buffer | (() => AsyncGenerator<Buffer>) }

export type FolderOptions = {
  /** Where it is in the image, with no slash at either end. */
  at: string
  /** Folders in it that the app may write, relative to it. They belong to the app's user with all that is in them. */
  writable?: readonly string[]
  /** Nothing else of the folder, relative to it. */
  only?: readonly string[]
  /** Whether it is a layer of an overlay, with marks of what it hides. */
  isOverlay?: boolean
  /** Called with names that an image cannot hold; they are left out. */
  onLeftOut?(path: string): void
}

const READ_AT_A_TIME = 32
/** Smaller files are read whole, several at a time. */
const SMALL_BYTES = 256 * 1024
const PIECE = 1024 * 1024

/** All of the folder, with the folders above its place in the image. */
export async function* contentsOf(top: string, options: FolderOptions): AsyncGenerator<Content> {
  const { at, writable = [], only, isOverlay = false, onLeftOut = () => undefined } = options
  const opaque = isOverlay ? await opaqueAmong(top, await foldersIn(top)) : new Map<string, Opaque>()
  const owner = (path: string): number =>
    writable.some((folder) => path === folder || path.startsWith(`${folder}/`)) ? APP_USER : 0

  const isPart = (path: string): boolean =>
    only?.some((one) => path === one || path.startsWith(`${one}/`) || one.startsWith(`${path}/`)) ?? true

  yield* foldersAbove(at)
  yield* walk('')

  async function* walk(path: string): AsyncGenerator<Content> {
    const inImage = path === '' ? at : `${at}/${path}`
    const all = await readdir(join(top, path), { withFileTypes: true })
    const fit: Dirent[] = []
    for (const entry of all) {
      if (!isPart(join(path, entry.name))) continue
      // A name that is not UTF-8 cannot be opened by its decoded form, and the mark of images means something else.
      if (entry.name.includes('\u{fffd}') || entry.name.startsWith(WHITEOUT)) onLeftOut(join(path, entry.name))
      else fit.push(entry)
    }
    const sorted = await sortInTurns(fit, ({ name }) => name)
    for (let from = 0; from < sorted.length; from += READ_AT_A_TIME) {
      const some = sorted.slice(from, from + READ_AT_A_TIME)
      const found = await Promise.all(some.map((entry) => look(entry, path, inImage)))
      for (const [index, content] of found.entries()) {
        if (!content) continue
        yield content
        if (content.entry.kind !== 'folder') continue
        const inner = join(path, (some[index] as Dirent).name)
        if (opaque.has(inner)) yield emptyFile(`${at}/${inner}/${OPAQUE}`)
        yield* walk(inner)
      }
    }
  }

  async function look(entry: Dirent, path: string, inImage: string): Promise<Content | undefined> {
    const inner = join(path, entry.name)
    const about = { path: `${inImage}/${entry.name}`, owner: owner(inner), size: 0 }
    // Folders in memory that a container has in its place get its mode, and do not belong to the app.
    const mode = writable.includes(inner) ? 0o777 : 0o755
    if (entry.isDirectory()) return { entry: { ...about, kind: 'folder', mode } }
    if (entry.isSymbolicLink()) {
      const to = await readlink(join(top, inner))
      if (!to.includes('\u{fffd}')) return { entry: { ...about, kind: 'symlink', mode: 0o777, to } }
    } else if (entry.isFile()) return fileAt(join(top, inner), about)
    else if (entry.isCharacterDevice() && (await lstat(join(top, inner))).rdev === 0)
      return emptyFile(`${inImage}/${WHITEOUT}${entry.name}`)
    onLeftOut(inner)
    return undefined
  }
}

async function foldersIn(top: string): Promise<string[]> {
  const found: string[] = []
  const rest = ['']
  for (let path = rest.pop(); path !== undefined; path = rest.pop()) {
    for (const entry of await readdir(join(top, path), { withFileTypes: true })) {
      if (!entry.isDirectory() || entry.name.includes('\u{fffd}')) continue
      found.push(join(path, entry.name))
      rest.push(join(path, entry.name))
    }
  }
  return found
}

/** One file of this machine at another place in the image. */
export async function fileAt(path: string, about: Pick<LayerEntry, 'path' | 'owner'>): Promise<Content> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  let stats: Stats
  try {
    stats = await file.stat()
    if (!stats.isFile()) throw new Error(`${path} is not a file any more`)
    const mode = (stats.mode & 0o111) === 0 ? 0o644 : 0o755
    const entry: LayerEntry = { ...about, kind: 'file', mode, size: stats.size }
    if (stats.size <= SMALL_BYTES) return { entry, bytes: await wholeOf(file, path, stats.size) }
    return { entry, bytes: () => piecesOf(path, stats.size) }
  } finally {
    await file.close()
  }
}

async function wholeOf(file: FileHandle, path: string, size: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(size)
  for (let at = 0; at < size; ) {
    const { bytesRead } = await file.read(bytes, at, size - at, at)
    if (bytesRead === 0) throw shorter(path)
    at += bytesRead
  }
  return bytes
}

async function* piecesOf(path: string, size: number): AsyncGenerator<Buffer> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  for (let left = size; left > 0; ) {
    const piece = Buffer.allocUnsafe(Math.min(left, PIECE))
    const { bytesRead } = await file.read(piece, 0, piece.byteLength)
    if (bytesRead === 0) throw shorter(path)
    left -= bytesRead
    yield piece.subarray(0, bytesRead)
  }
}

const shorter = (path: string): Error => new Error(`${path} became shorter while it was read`)

/** The folder itself and those above it. */
export function* foldersAbove(path: string): Generator<Content> {
  const steps = path.split('/')
  for (let count = 1; count <= steps.length; count++) yield folderEntry(steps.slice(0, count).join('/'))
}

export const folderEntry = (path: string, mode = 0o755): Content => ({
  entry: { path, kind: 'folder', mode, owner: 0, size: 0 },
})

const emptyFile = (path: string): Content => textEntry(path, '')

export function textEntry(path: string, text: string): Content {
  const bytes = Buffer.from(text)
  return { entry: { path, kind: 'file', mode: 0o644, owner: 0, size: bytes.byteLength }, bytes }
}
