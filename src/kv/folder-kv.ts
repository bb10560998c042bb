/**
 * Values as files. A namespace is a folder with a file for each key, named by the key's digest, and a least-recently-used order
 * in memory; the modification times of the files keep that order for the next start, to the minute.
 */
import { mkdir, readdir, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { absent, type Clock, createTurns, randomToken } from '../base/index.ts'
import { bytesOfFile, bytesOnDisk, DRAFT, readValue, writeValue } from './file.ts'
import {
  type AdmitGrowth,
  DEFAULT_KV_LIMITS,
  type Growth,
  type Kv,
  NOTE_USE_AFTER_MS,
  nameOf,
  quotaExceeded,
  type ValueLimits,
} from './kv.ts'

/** The least recently used first. `noteTime` is the modification time of the file. */
type Namespace = { entries: Map<string, { bytes: number; noteTime: number }>; bytes: number }

/** Namespaces whose order is kept in memory; more while more are in use. */
const MAX_NAMESPACES = 64
const NAMESPACE_IDLE_MS = 60_000
const STATS_AT_ONCE = 64

type Parts = {
  clock: Clock
  folderOf(environmentId: string): string
  limits?: ValueLimits
  admitGrowth?: AdmitGrowth
}

export function createFolderKv({
  clock,
  folderOf,
  limits = DEFAULT_KV_LIMITS,
  admitGrowth = async () => true,
}: Parts): Kv {
  /** The most recently used comes last. */
  const namespaces = new Map<string, { loaded: Promise<Namespace>; useTime: number }>()
  const inTurn = createTurns()

  function namespaceOf(environmentId: string): Promise<Namespace> {
    const found = namespaces.get(environmentId) ?? load(environmentId)
    found.useTime = clock.now()
    namespaces.delete(environmentId)
    namespaces.set(environmentId, found)
    // A namespace that was not used for a while has no request under way, and can be read from the disk again.
    for (const [id, { useTime }] of namespaces) {
      if (namespaces.size <= MAX_NAMESPACES || clock.now() - useTime < NAMESPACE_IDLE_MS) break
      namespaces.delete(id)
    }
    return found.loaded
  }

  function load(environmentId: string) {
    const loading = { loaded: inTurn(environmentId, () => loadNamespace(folderOf(environmentId))), useTime: 0 }
    loading.loaded.catch(() => namespaces.get(environmentId) === loading && namespaces.delete(environmentId))
    return loading
  }

  async function removeFrom(namespace: Namespace, environmentId: string, name: string) {
    await rm(join(folderOf(environmentId), name), { force: true })
    namespace.bytes -= namespace.entries.get(name)?.bytes ?? 0
    namespace.entries.delete(name)
  }

  /** Which values are removed for a new one: decided and counted before anything is written or removed. */
  async function admit(namespace: Namespace, environmentId: string, name: string, bytes: number): Promise<Change> {
    const wanted = changeFor(namespace, name, bytes, limits.totalBytes)
    if (await admitGrowth(environmentId, wanted.growth)) return wanted
    const instead = changeFor(namespace, name, bytes, namespace.bytes)
    if (instead.growth.bytes <= 0 && (await admitGrowth(environmentId, instead.growth))) return instead
    throw quotaExceeded()
  }

  return {
    async bytesOf(environmentId, key) {
      return (await namespaceOf(environmentId)).entries.get(nameOf(key))?.bytes
    },

    async get(environmentId, key) {
      const namespace = await namespaceOf(environmentId)
      const name = nameOf(key)
      const path = join(folderOf(environmentId), name)
      const entry = namespace.entries.get(name)
      if (!entry) return undefined
      const value = await readValue(path)
      // It was removed in the meantime, or is damaged: a second read, while no write is under way, shows which.
      if (!value) {
        return inTurn(environmentId, async () => {
          const again = await readValue(path)
          if (!again) await removeFrom(namespace, environmentId, name)
          return again
        })
      }
      if (namespace.entries.get(name) === entry) {
        namespace.entries.delete(name)
        namespace.entries.set(name, entry)
      }
      if (clock.now() - entry.noteTime >= NOTE_USE_AFTER_MS) {
        entry.noteTime = clock.now()
        const time = new Date(entry.noteTime)
        await utimes(path, time, time).catch(absent)
      }
      return value
    },

    async put(environmentId, key, value) {
      const namespace = await namespaceOf(environmentId)
      const name = nameOf(key)
      const folder = folderOf(environmentId)
      const bytes = bytesOnDisk(bytesOfFile(value))
      await inTurn(environmentId, async () => {
        const { gone } = await admit(namespace, environmentId, name, bytes)
        for (const oldest of gone) await removeFrom(namespace, environmentId, oldest)
        const replaced = namespace.entries.get(name)?.bytes ?? 0
        await mkdir(folder, { recursive: true, mode: 0o700 })
        const noteTime = clock.now()
        await writeValue(join(folder, name), join(folder, `${randomToken()}${DRAFT}`), value, new Date(noteTime))
        namespace.entries.delete(name)
        namespace.entries.set(name, { bytes, noteTime })
        namespace.bytes += bytes - replaced
      })
    },
  }
}

type Change = { gone: string[]; growth: Growth }

/** Removes the least recently used until no more than `max` is left; the new value itself always stays. */
function changeFor({ entries, bytes: before }: Namespace, name: string, bytes: number, max: number): Change {
  const replaced = entries.get(name)
  const gone: string[] = []
  let after = before - (replaced?.bytes ?? 0) + bytes
  for (const [oldest, entry] of entries) {
    if (after <= max) break
    if (oldest === name) continue
    gone.push(oldest)
    after -= entry.bytes
  }
  return { gone, growth: { bytes: after - before, files: (replaced ? 0 : 1) - gone.length } }
}

/** Removes drafts that a dead process left. */
async function loadNamespace(folder: string): Promise<Namespace> {
  const names = (await readdir(folder).catch(absent)) ?? []
  const found: { name: string; bytes: number; noteTime: number }[] = []
  for (let from = 0; from < names.length; from += STATS_AT_ONCE) {
    await Promise.all(
      names.slice(from, from + STATS_AT_ONCE).map(async (name) => {
        if (name.endsWith(DRAFT)) return rm(join(folder, name), { force: true })
        const { size, mtimeMs } = await stat(join(folder, name))
        found.push({ name, bytes: bytesOnDisk(size), noteTime: mtimeMs })
      }),
    )
  }
  found.sort((a, b) => a.noteTime - b.noteTime)
  return {
    entries: new Map(found.map(({ name, bytes, noteTime }) => [name, { bytes, noteTime }])),
    bytes: found.reduce((sum, { bytes }) => sum + bytes, 0),
  }
}
