/** Reads the needed facts from npm's lockfile. The text is untrusted. Pure. */
import { type Native, nativesIn, type Platform, packagesIn } from '../diagnose/native-packages.ts'

export type Lockfile = {
  /** Whether there is a checksum for every package that is downloaded. */
  isPinned: boolean
  /** Native packages that an install should install. */
  natives: Native[]
}

/** A text that is no lockfile pins nothing and requires nothing: npm reports what is wrong with it. */
export function parseLockfile(text: string, platform: Platform): Lockfile {
  const lockfile = parse(text)
  return { isPinned: isPinned(lockfile), natives: nativesIn(packagesIn(lockfile), platform) }
}

function isPinned(lockfile: unknown): boolean {
  const entries = Object.entries(objectIn(objectIn(lockfile).packages))
  const foreign = entries
    .map(([path, entry]) => ({ ...objectIn(entry), path }) as LockfileEntry)
    .filter(({ path, link, inBundle }) => path.includes('node_modules/') && !link && !inBundle)
  return foreign.length > 0 && foreign.every(({ integrity }) => typeof integrity === 'string')
}

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
