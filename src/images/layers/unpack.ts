/**
 * Unpacks a layer into a new folder that only the service reaches. A name comes once, and after the folder that contains it:
 * so nothing is ever written through a link, whatever a layer says. All numbers are bounded while it is read.
 */
import { createReadStream } from 'node:fs'
import { chmod, chown, lchown, mkdir, open, symlink, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { createGunzip } from 'node:zlib'
import { type Bytes, nameFor } from '../../tar/index.ts'
import { APP_USER, LayerBroken, type LayerEntry, OPAQUE, WHITEOUT } from './entry.ts'
import { type Marks, putMarks } from './marks.ts'
import { bytesOf, nextEntry, skipPadding } from './tar.ts'

export type LayerLimits = { files: number; bytes: number }

export type UnpackOptions = {
  /** The folder of the image whose content is unpacked; a layer with anything outside of it is refused. */
  at: string
  limits: LayerLimits
  /** Who gets the folders that the app may write; undefined where the service cannot give files away. */
  user: { uid: number; gid: number } | undefined
  /** The time of every file, in milliseconds. */
  time: number
  signal?: AbortSignal | undefined
}

/** The file is a whole layer whose digest was verified. */
export async function unpackLayer(file: string, folder: string, options: UnpackOptions): Promise<LayerLimits> {
  const source = createReadStream(file)
  const plain = source.pipe(createGunzip())
  // A pipe does not pass errors on.
  source.once('error', (error) => plain.destroy(error))
  try {
    return await unpackTar(plain, folder, options)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code?.startsWith('Z_')) throw new LayerBroken('it is not gzip')
    throw error
  } finally {
    source.destroy()
    plain.destroy()
  }
}

export async function unpackTar(
  source: AsyncIterable<Uint8Array>,
  folder: string,
  options: UnpackOptions,
): Promise<LayerLimits> {
  const { at, limits, user, time, signal } = options
  const bytes = bytesOf(source)
  const above = at.split('/')
  const kinds = new Map<string, LayerEntry['kind'] | 'mark'>()
  const marks = { whiteouts: [] as string[], opaque: [] as string[] } satisfies Marks
  const written = { files: 0, bytes: 0 }
  const folders: { path: string; owner: number }[] = []

  await mkdir(folder, { mode: 0o755 })
  for (let entry = await nextEntry(bytes); entry !== undefined; entry = await nextEntry(bytes)) {
    signal?.throwIfAborted()
    const path = innerPath(entry)
    if (path === undefined) continue
    check(path, entry)
    written.files += 1
    written.bytes += entry.size
    if (written.files > limits.files || written.bytes > limits.bytes) throw new LayerBroken('it is larger than allowed')
    await place(path, entry)
  }
  await putMarks(folder, marks)
  // The time of a folder changes with what is written to it, so that of the inner ones is set first.
  for (const { path, owner } of folders.reverse()) {
    const full = join(folder, path)
    await chmod(full, 0o755)
    await giveTo(owner, full, chown)
    await utimes(full, time / 1000, time / 1000)
  }
  return written

  /** Undefined for the folders above the content. */
  function innerPath({ path, kind, mode }: LayerEntry): string | undefined {
    const steps = path.split('/')
    if (steps.some((step) => step === '' || step === '.' || step === '..') || path.includes('\0'))
      throw new LayerBroken(`it has the name ${nameFor(path)}`)
    if (mode & ~0o777) throw new LayerBroken(`${nameFor(path)} has more than plain permissions`)
    const isAbove = steps.length <= above.length
    const isInside = above.every((step, index) => steps[index] === step || (isAbove && index >= steps.length))
    if (!isInside || (isAbove && kind !== 'folder')) throw new LayerBroken(`${nameFor(path)} is outside of ${at}`)
    return isAbove ? undefined : steps.slice(above.length).join('/')
  }

  function check(path: string, { kind, size, owner }: LayerEntry) {
    const named = nameFor(path)
    if (kinds.has(path)) throw new LayerBroken(`it has ${named} twice`)
    const end = path.lastIndexOf('/')
    if (end >= 0 && kinds.get(path.slice(0, end)) !== 'folder') throw new LayerBroken(`${named} lies in no folder`)
    if (owner !== 0 && owner !== APP_USER) throw new LayerBroken(`${named} belongs to an unknown user`)
    const name = path.slice(end + 1)
    const isMark = name.startsWith(WHITEOUT)
    if (isMark && (kind !== 'file' || size > 0)) throw new LayerBroken(`the mark ${named} is not an empty file`)
    if (isMark && name !== OPAQUE) {
      // The mark takes the place of the file that it hides.
      const hidden = path.slice(0, end + 1) + name.slice(WHITEOUT.length)
      if (name.length === WHITEOUT.length || name.startsWith(WHITEOUT, WHITEOUT.length) || kinds.has(hidden))
        throw new LayerBroken(`the mark ${named} hides what is there`)
      kinds.set(hidden, 'mark')
    }
    kinds.set(path, isMark ? 'mark' : kind)
  }

  async function place(path: string, entry: LayerEntry) {
    const full = join(folder, path)
    const end = path.lastIndexOf('/')
    const name = path.slice(end + 1)
    if (name === OPAQUE) {
      if (end < 0) throw new LayerBroken('it hides the whole app')
      marks.opaque.push(path.slice(0, end))
    } else if (name.startsWith(WHITEOUT)) {
      marks.whiteouts.push(path.slice(0, end + 1) + name.slice(WHITEOUT.length))
    } else if (entry.kind === 'folder') {
      await mkdir(full, { mode: 0o755 })
      folders.push({ path, owner: entry.owner })
    } else if (entry.kind === 'symlink') {
      if (!entry.to || entry.to.includes('\0')) throw new LayerBroken(`${nameFor(path)} leads nowhere`)
      await symlink(entry.to, full)
      await giveTo(entry.owner, full, lchown)
    } else await writeFile(full, entry, bytes)
  }

  async function writeFile(full: string, entry: LayerEntry, from: Bytes) {
    await using target = await open(full, 'wx', 0o600)
    for await (const piece of from.pieces(entry.size)) await target.writeFile(piece)
    await skipPadding(from, entry.size)
    await target.chmod(entry.mode & 0o111 ? 0o755 : 0o644)
    await giveTo(entry.owner, full, (_, uid, gid) => target.chown(uid, gid))
    await target.utimes(time / 1000, time / 1000)
  }

  async function giveTo(owner: number, full: string, give: typeof chown) {
    if (owner === APP_USER && user) await give(full, user.uid, user.gid)
  }
}
