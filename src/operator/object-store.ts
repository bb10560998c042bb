/** What operators' commands tell about the object store. */
import type { DataFolder, Finding } from './command.ts'

/** None where there is no object store. */
export async function objectStoreFindings(folder: DataFolder): Promise<Finding[]> {
  const { objectStore, probeObjectStore } = folder
  if (!objectStore || !probeObjectStore) return []
  const part = 'object store'
  try {
    const probed = await probeObjectStore()
    if (!probed) return []
    const { host, writeMs, readMs, deleteMs, isVersioned } = probed
    const times = `write ${writeMs} ms, read ${readMs} ms, delete ${deleteMs} ms`
    const found = `${objectStore} at ${host}: ${times}; ${VERSIONS[`${isVersioned}`]}`
    if (isVersioned === false) return [{ part, state: 'weaker', found, advice: KEEP_VERSIONS }]
    return [{ part, state: 'ok', found, advice: '' }]
  } catch (error) {
    const [found = '', ...advice] = (error as Error).message.split(/(?<=\.) /)
    return [{ part, state: 'broken', found: `${objectStore}: ${found}`, advice: advice.join(' ') || 'Start it again.' }]
  }
}

const VERSIONS = {
  true: 'old versions are kept',
  false: 'old versions are not kept',
  undefined: 'whether old versions are kept is not known',
} as const

const KEEP_VERSIONS =
  'Switch versioning on for the bucket, so that what is deleted by mistake can be brought back; a lifecycle rule ends old versions.'

/** What a backup does not contain, and how that is kept. */
export async function notInBackup(folder: DataFolder): Promise<string | undefined> {
  const { objectStore, probeObjectStore } = folder
  if (!objectStore) return undefined
  const isVersioned = await probeObjectStore?.().then(
    (probed) => probed?.isVersioned,
    () => undefined,
  )
  const words = `archives, closed logs and larger values of apps are in ${objectStore} and not in the backup, unless they are still on this disk.`
  return isVersioned
    ? `${words} The bucket keeps old versions: see that they are kept for as long as the backup.`
    : `${words} Switch versioning on for the bucket, or copy it after each backup.`
}
