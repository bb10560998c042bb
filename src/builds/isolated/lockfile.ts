/** Reads the needed facts from npm's lockfile. The text is untrusted. Pure. */
import { type Native, nativesIn, type Platform, packagesIn } from '../diagnose/native-packages.ts'

export type Lockfile = {
  /** Whether there is a checksum for every package that is downloaded. */
  isPinned: boolean
  /** Native packages that an install should install. */
  natives: Native[]
  /** The SHA-512 of each package that is downloaded, in hexadecimal digits, where the lockfile has it. */
  tarballs: string[]
}

/** More than any app has. */
const MAX_TARBALLS = 10_000

/** A text that is no lockfile pins nothing and requires nothing: npm reports what is wrong with it. */
export function parseLockfile(text: string, platform: Platform): Lockfile {
  const lockfile = parse(text)
  const foreign = foreignEntries(lockfile)
  return {
    isPinned: foreign.length > 0 && foreign.every(({ integrity }) => typeof integrity === 'string'),
    natives: nativesIn(packagesIn(lockfile), platform),
    tarballs: tarballsIn(foreign),
  }
}

/** Packages that come from elsewhere. */
function foreignEntries(lockfile: unknown): LockfileEntry[] {
  return Object.entries(objectIn(objectIn(lockfile).packages))
    .map(([path, entry]) => ({ ...objectIn(entry), path }) as LockfileEntry)
    .filter(({ path, link, inBundle }) => path.includes('node_modules/') && !link && !inBundle)
}

function tarballsIn(entries: readonly LockfileEntry[]): string[] {
  const digests = new Set<string>()
  for (const { integrity } of entries) {
    const [, digest] = (typeof integrity === 'string' && SHA512.exec(integrity)) || []
    if (digest !== undefined) digests.add(Buffer.from(digest, 'base64').toString('hex'))
    if (digests.size === MAX_TARBALLS) break
  }
  return [...digests]
}

/** One of several checksums, as npm writes them. */
const SHA512 = /(?:^|\s)sha512-([A-Za-z0-9+/]{86}==)(?=$|[\s?])/

type LockfileEntry = { path: string; link?: unknown; inBundle?: unknown; integrity?: unknown }

function parse(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

const objectIn = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
