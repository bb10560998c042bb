/**
 * What the package consists of, as a CycloneDX document: the packages that npm installs with it, and those whose code it holds.
 * It has no time and no number of its own, so the same commit always has the same one.
 */
import { folderOf, installedWith, type LockedPackage, type Lockfile, nameOf, neededBy } from './lockfile.ts'

type Given = {
  manifest: { name: string; version: string; description: string; license: string; homepage: string }
  lock: Lockfile
  /** The packages whose code is in the package. */
  bundled: readonly { name: string; version: string }[]
}

/** How a component gets to a machine: npm installs it, or its code is in the package. */
const DELIVERY = 'headland:delivery'

export function sbomOf({ manifest, lock, bundled }: Given): object {
  const installed = installedWith(lock)
  const inside = new Set(bundled.map((one) => bundledFolder(lock, one)))
  const folders = [...installed, ...inside]
  const top = `${manifest.name}@${manifest.version}`
  const refOf = (folder: string) => `${nameOf(folder)}@${lock.packages[folder]?.version}`
  const isInside = new Set([...inside].map(refOf))
  const isInstalled = new Set([...installed].map(refOf))

  const components = new Map<string, object>()
  const needs = new Map<string, Set<string>>([[top, new Set()]])
  for (const folder of folders) {
    const [ref, locked] = [refOf(folder), lock.packages[folder] as LockedPackage]
    const deliveries = [...(isInside.has(ref) ? ['bundled'] : []), ...(isInstalled.has(ref) ? ['installed'] : [])]
    components.set(ref, {
      type: 'library',
      'bom-ref': ref,
      name: nameOf(folder),
      version: locked.version,
      scope: locked.optional && !isInside.has(ref) ? 'optional' : 'required',
      ...hashesOf(locked),
      licenses: licensesOf(locked.license),
      purl: purlOf(nameOf(folder), locked.version),
      properties: deliveries.map((value) => ({ name: DELIVERY, value })),
    })
    // One version may lie in several folders, and find other versions from each.
    const needed = neededBy(lock, folder).map(refOf)
    needs.set(ref, new Set([...(needs.get(ref) ?? []), ...needed]))
  }
  const wanted = [
    ...neededBy(lock, ''),
    ...Object.keys(lock.packages['']?.devDependencies ?? {}).map((name) => folderOf(lock, name, '')),
  ]
  for (const folder of wanted) if (folder !== undefined) needs.get(top)?.add(refOf(folder))

  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': top,
        name: manifest.name,
        version: manifest.version,
        description: manifest.description,
        licenses: licensesOf(manifest.license),
        purl: purlOf(manifest.name, manifest.version),
        externalReferences: [{ type: 'website', url: manifest.homepage }],
      },
    },
    components: sorted(components.keys()).map((ref) => components.get(ref)),
    dependencies: sorted(needs.keys()).map((ref) => ({
      ref,
      dependsOn: sorted(needs.get(ref) ?? []).filter((one) => components.has(one)),
    })),
  }
}

function bundledFolder(lock: Lockfile, { name, version }: { name: string; version: string }): string {
  const folder = Object.keys(lock.packages).find(
    (one) => nameOf(one) === name && lock.packages[one]?.version === version,
  )
  if (folder === undefined)
    throw new Error(`${name} ${version} is bundled, and package-lock.json does not have it: run npm ci`)
  return folder
}

/** By code units, which no locale changes. */
const sorted = (texts: Iterable<string>): string[] => [...texts].sort()

function licensesOf(license: string | undefined): object[] {
  if (license === undefined) return []
  return [/[ ()]/.test(license) ? { expression: license } : { license: { id: license } }]
}

function hashesOf({ integrity }: LockedPackage): { hashes?: object[] } {
  const [, digest] = /^sha512-(.+)$/.exec(integrity ?? '') ?? []
  if (digest === undefined) return {}
  return { hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }] }
}

const purlOf = (name: string, version: string): string => `pkg:npm/${name.replace('@', '%40')}@${version}`
