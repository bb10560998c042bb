/** Tries a registry: a tiny image is pushed, pulled and deleted, and each is timed. */
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openRegistryClient, prefixOf, type RegistrySettings } from './open.ts'
import { digestOf } from './registry/answers.ts'
import { MANIFEST_TYPE } from './registry/manifests.ts'

export type Checked = {
  pushMs: number
  pullMs: number
  /** Why it did not delete, which only the garbage collector needs. */
  deletion: { ms: number } | { problem: string }
}

/** The user who asks waits for it. */
const TIMEOUT_SECONDS = 2

/** Rejects with what is wrong where it cannot be pushed or pulled. */
export async function checkRegistry(settings: RegistrySettings, userAgent: string): Promise<Checked> {
  const client = openRegistryClient({ ...settings, registryTimeout: TIMEOUT_SECONDS }, userAgent)
  const repository = [prefixOf(settings.registry), 'headland-doctor'].filter(Boolean).join('/')
  const folder = await mkdtemp(join(tmpdir(), 'headland-doctor-'))
  const timed = async (work: () => Promise<void>): Promise<number> => {
    const beganAt = performance.now()
    await work()
    return Math.round(performance.now() - beganAt)
  }
  try {
    // Another one each time: what is there already would not be pushed.
    const bytes = Buffer.from(JSON.stringify({ check: randomUUID() }))
    const blob = { digest: digestOf(bytes), size: bytes.byteLength, file: join(folder, 'blob') }
    await writeFile(blob.file, bytes)
    const config = { mediaType: 'application/vnd.oci.image.config.v1+json', digest: blob.digest, size: blob.size }
    const manifest = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: MANIFEST_TYPE, config, layers: [] }))
    const digest = digestOf(manifest)
    const pushMs = await timed(async () => {
      await client.pushBlob(repository, blob)
      await client.pushManifest(repository, manifest, [])
    })
    const pullMs = await timed(async () => {
      if (!(await client.pullManifest(repository, digest))) throw new Error('what was pushed is not there')
      await client.pullBlob(repository, { ...blob, file: join(folder, 'copy') })
    })
    const deletion = await timed(() => client.deleteManifest(repository, digest)).then(
      (ms) => ({ ms }),
      (error: Error) => ({ problem: error.message }),
    )
    return { pushMs, pullMs, deletion }
  } finally {
    client.close()
    await rm(folder, { recursive: true, force: true })
  }
}
