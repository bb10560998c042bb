/** The kernel's files and folders of cgroups; behind a type, so that a test can stand in for the kernel. */
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmdirSync, writeSync } from 'node:fs'

export type Files = {
  /** Undefined where there is no such file, or it may not be read. */
  read(file: string): string | undefined
  /** Throws the kernel's error. */
  write(file: string, text: string): void
  /** One that is there already is fine. */
  make(folder: string): void
  /** False when a process still lives in it. One that is gone is fine. */
  remove(folder: string): boolean
  /** Names of the folders in a folder. */
  list(folder: string): string[]
}

/** None of this waits for a disk: each takes some hundredths of a millisecond. */
export const kernelFiles: Files = {
  read: (file) => attempt(() => readFileSync(file, 'utf8')),
  write(file, text) {
    // Without O_CREAT: the kernel's files exist or they do not.
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

/** A group may be removed while it is read; an open file of a removed one gives ENODEV. */
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
