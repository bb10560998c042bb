/** Reads npm's lockfile without blocking the service, and looks for the native packages that it requires. */
import { Problem } from '../../contract/index.ts'
import { type Missing, missingOf } from '../diagnose/native-packages.ts'
import { bytesInWords } from '../run/log-words.ts'
import { isAnythingIn, openFileIn } from '../run/untrusted-folder.ts'
import { LimitExceeded, runIsolated } from './isolated.ts'
import type { Lockfile } from './lockfile.ts'

/** The lockfiles of the largest repositories have 20 MB. */
export const MAX_LOCKFILE_BYTES = 32 * 1024 ** 2

/** Undefined where there is no such file. */
export async function readNpmLockfile(top: string, path: string): Promise<Lockfile | undefined> {
  const found = await openFileIn(top, path)
  if (!found) return undefined
  await using file = found.file
  if (found.bytes > MAX_LOCKFILE_BYTES)
    throw unreadable(path, `has ${bytesInWords(found.bytes)}, and at most ${bytesInWords(MAX_LOCKFILE_BYTES)} are read`)
  try {
    return await runIsolated('lockfile', { platform: { ...MACHINE, libc: libcOfMachine() } }, { file })
  } catch (error) {
    if (!(error instanceof LimitExceeded)) throw error
    throw unreadable(path, `takes more ${error.what} to read than any lockfile does`)
  }
}

/** The lockfile that npm writes beside installed packages. */
const INSTALLED = 'node_modules/.package-lock.json'

/** For an install without a lockfile. It is only used for messages, so an unreadable file counts as none. */
export async function readInstalled(top: string): Promise<Lockfile | undefined> {
  try {
    return await readNpmLockfile(top, INSTALLED)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return undefined
  }
}

/** Native packages for this machine that the lockfile requires and the folder does not have. */
export const missingNatives = (lockfile: Lockfile, top: string): Promise<Missing[]> =>
  missingOf(lockfile.natives, (folder) => isAnythingIn(top, folder))

const unreadable = (path: string, why: string): Problem =>
  new Problem(
    'LOCKFILE_MISMATCH',
    `${path} ${why}. Run \`npm install\` on your machine and upload the one it writes.`,
    {
      metadata: { lockfile: path },
    },
  )

/** Node reports the C library that it was linked with, which is the machine's. The report takes milliseconds. */
function libcOfMachine(): 'glibc' | 'musl' {
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } }
  return header.glibcVersionRuntime === undefined ? 'musl' : 'glibc'
}

export const MACHINE = { os: process.platform, cpu: process.arch } as const
