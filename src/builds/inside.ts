/**
 * Looks at folders that other people's programs wrote, once those are gone: whatever is a link is not followed, since it may
 * lead anywhere.
 */
import { lstat, opendir } from 'node:fs/promises'
import { join } from 'node:path'

/** Whether there is a folder at a path in `top`, with no link on the way. */
export async function isFolderIn(top: string, path: string): Promise<boolean> {
  let at = top
  for (const step of path.split('/').filter((name) => name !== '' && name !== '.')) {
    if (step === '..') return false
    at = join(at, step)
    if (!(await lookAt(at))?.isDirectory()) return false
  }
  return (await lookAt(at))?.isDirectory() === true
}

/** Whether anything at all is there, be it the mark of an overlay that something is not. */
export async function isAnythingIn(top: string, path: string): Promise<boolean> {
  return (await lookAt(join(top, path))) !== undefined
}

export type Size = { files: number; bytes: number }

/** What is in a folder, as far as one may look; counting ends when it is more than `most`. It may change meanwhile. */
export async function sizeOf(folder: string, most: Size = NO_LIMIT): Promise<Size> {
  const size = { files: 0, bytes: 0 }

  async function walk(path: string): Promise<void> {
    const folders: string[] = []
    let others: string[] = []
    const isOver = () => size.files > most.files || size.bytes > most.bytes
    async function lookAtOthers() {
      const found = await Promise.all(others.map((name) => lookAt(join(path, name))))
      size.files += others.length
      size.bytes += found.reduce((sum, file) => sum + (file?.isFile() ? file.size : 0), 0)
      others = []
    }
    // Some at a time: a folder may hold millions.
    for await (const entry of await opendir(path, { bufferSize: AT_A_TIME }).catch(unreadable)) {
      if (entry.isDirectory()) folders.push(entry.name)
      else if (others.push(entry.name) >= AT_A_TIME) await lookAtOthers()
      if (isOver()) return
    }
    await lookAtOthers()
    for (const name of folders) {
      if (isOver()) return
      await walk(join(path, name))
    }
  }

  await walk(folder)
  return size
}

const AT_A_TIME = 256
const NO_LIMIT = { files: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }

function unreadable(error: NodeJS.ErrnoException): [] {
  if (!['ENOENT', 'ENOTDIR', 'EACCES', 'ENAMETOOLONG'].includes(error.code ?? '')) throw error
  return []
}

async function lookAt(path: string) {
  return lstat(path).catch((error: NodeJS.ErrnoException) => {
    unreadable(error)
    return undefined
  })
}
