/** The files and folders by which one talks to the kernel about cgroups; behind a type, so that a test can play kernel. */
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmdirSync, writeSync } from 'node:fs'

export type Files = {
  /** Nothing where there is no such file, or none for us. */
  read(file: string): string | undefined
  /** Throws what the kernel says. */
  write(file: string, text: string): void
  /** One that is there already is fine. */
  make(folder: string): void
  /** False when something still lives in it. One that is gone is fine. */
  remove(folder: string): boolean
  /** Names of the folders in a folder. */
  list(folder: string): string[]
}

/** None of this waits for a disk: each takes some hundredths of a millisecond. */
export const kernelFiles: Files = {
  read: (file) => attempt(() => readFileSync(file, 'utf8')),
  write(file, text) {
    // Not to be made: the kernel's files are there or they are not.
    const descriptor = openSync(file, 'r+')
    try {
      writeSync(descriptor, text)
    } finally {
      closeSync(descriptor)
    }
  },
  make(folder) {
    try {
      mkdirSync(folder)
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
  },
  remove(folder) {
    try {
      rmdirSync(folder)
      return true
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return true
      if (['EBUSY', 'ENOTEMPTY', 'EACCES', 'EPERM', 'EROFS'].includes(codeOf(error))) return false
      throw error
    }
  },
  list: (folder) =>
    (attempt(() => readdirSync(folder, { withFileTypes: true })) ?? [])
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name),
}

/** For what only newer kernels have, or only some machines. */
export function writeIfThere(files: Files, file: string, text: string) {
  try {
    files.write(file, text)
  } catch (error) {
    if (!['ENOENT', 'EACCES', 'EPERM', 'EINVAL', 'EOPNOTSUPP', 'ENODEV'].includes(codeOf(error))) throw error
  }
}

export const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? ''

/** Groups come and go while one looks, and ENODEV is what an open file of a removed one says. */
function attempt<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch (error) {
    if (['ENOENT', 'ENODEV', 'ENOTDIR', 'EACCES', 'EPERM', 'EOPNOTSUPP', 'EINVAL'].includes(codeOf(error))) {
      return undefined
    }
    throw error
  }
}
