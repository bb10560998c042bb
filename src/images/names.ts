/** Names in a registry: of the repository of an app, and of images in it. */
import { createHash } from 'node:crypto'
import { checkDigest, type Digest } from '../storage/index.ts'

/** What the grammar of repositories allows between slashes. */
const PART = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/

/** A repository may come from a stored record: it becomes a part of an address only after this check. */
export function checkRepository(text: string): string {
  if (text.length <= 255 && text.split('/').every((part) => PART.test(part))) return text
  throw new Error(`not a repository: ${JSON.stringify(text.slice(0, 80))}`)
}

/** `prefix/account/app`. A name that the grammar does not allow gets a digest in place of what it lost. */
export function repositoryOf(prefix: string, account: string, app: string): string {
  return [...(prefix === '' ? [] : [prefix]), partOf(account), partOf(app)].join('/')
}

/** Names of apps differ in more than their case, so that lower case loses nothing. */
function partOf(name: string): string {
  const lower = name.toLowerCase()
  if (PART.test(lower)) return lower
  const kept = lower.replaceAll(/[^a-z0-9]+/g, '-').replaceAll(/^-+|-+$/g, '')
  return `${kept || 'app'}-${createHash('sha256').update(lower).digest('hex').slice(0, 8)}`
}

/** A manifest without a tag is garbage to some registries. */
export const tagOf = (output: Digest): string => `output-${output.slice('sha256:'.length, 'sha256:'.length + 32)}`

/** What `docker run` and other tools take. */
export const referenceOf = (host: string, repository: string, manifest: Digest): string =>
  `${host}/${repository}@${manifest}`

/** The repository and the manifest that a reference names, in whichever registry. */
export function placeIn(reference: string): { repository: string; manifest: Digest } {
  const [, repository = '', manifest = ''] = /^[^/@]+\/([^@]+)@([^@]+)$/.exec(reference) ?? []
  checkDigest(manifest)
  return { repository: checkRepository(repository), manifest }
}
