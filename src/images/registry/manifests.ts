/** Manifests of a registry, by their digest and by tags. */
import { checkDigest, type Digest } from '../../storage/index.ts'
import { type Calls, digestOf, expect, type Waiting } from './answers.ts'
import { DigestMismatch, RegistryRefused } from './problem.ts'

export const MANIFEST_TYPE = 'application/vnd.oci.image.manifest.v1+json'

export function createManifestCalls({ at, ask, retried }: Calls) {
  return {
    /** Stores a manifest under its digest, and under tags. */
    async pushManifest(
      repository: string,
      bytes: Buffer,
      tags: readonly string[],
      waiting: Waiting = {},
    ): Promise<Digest> {
      const digest = digestOf(bytes)
      for (const name of tags.length > 0 ? tags : [digest])
        await retried(async () => {
          const url = at(repository, `manifests/${name}`)
          const headers = { 'content-type': MANIFEST_TYPE }
          const answer = await ask(repository, { method: 'PUT', url, headers, body: bytes, signal: waiting.signal })
          expect(answer, [201], 'the upload of a manifest')
        }, waiting)
      return digest
    },

    async hasManifest(repository: string, digest: Digest, waiting: Waiting = {}): Promise<boolean> {
      return retried(async () => {
        const url = at(repository, `manifests/${digest}`)
        const headers = { accept: MANIFEST_TYPE }
        const answer = await ask(repository, { method: 'HEAD', url, headers, signal: waiting.signal })
        if (answer.status === 404) return false
        expect(answer, [200], `the look for ${digest}`)
        return true
      }, waiting)
    },

    /** The bytes of a manifest, verified; undefined where the registry has none. */
    async pullManifest(repository: string, digest: Digest, waiting: Waiting = {}): Promise<Buffer | undefined> {
      checkDigest(digest)
      return retried(async () => {
        const url = at(repository, `manifests/${digest}`)
        const headers = { accept: MANIFEST_TYPE }
        const answer = await ask(repository, { method: 'GET', url, headers, signal: waiting.signal })
        if (answer.status === 404) return undefined
        expect(answer, [200], `the download of ${digest}`)
        if (digestOf(answer.body) !== digest) throw new DigestMismatch(digest)
        return answer.body
      }, waiting)
    },

    /** A manifest that is not there any more is deleted. */
    async deleteManifest(repository: string, digest: Digest, waiting: Waiting = {}): Promise<void> {
      await retried(async () => {
        const url = at(repository, `manifests/${digest}`)
        const answer = await ask(repository, { method: 'DELETE', url, signal: waiting.signal })
        if (answer.status === 405)
          throw new RegistryRefused('The registry does not delete: enable deletion in its settings.', 405)
        if (answer.status !== 404) expect(answer, [202, 200, 204], `the deletion of ${digest}`)
      }, waiting)
    },
  }
}
