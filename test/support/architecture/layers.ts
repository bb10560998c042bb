/**
 * The layers of the architecture as pure functions: they take sources and return violations. The tests run them over the real
 * tree, and over small invented trees that break each rule.
 */
import { dirname, join } from 'node:path/posix'
import { hasComputedImport, importsOf, ofService, type Source } from './source.ts'

/** The layer of each module: `apps/` → 2, `main.ts` → 6. */
export type Layers = ReadonlyMap<string, number>

/** What stands behind an interface, chosen in one place. */
export const ADAPTERS: readonly string[] = [
  'src/storage/sql/sqlite.ts',
  'src/storage/sql/postgres/postgres.ts',
  'src/storage/sql/postgres/election.ts',
  'src/storage/blobs/blobs-disk.ts',
  'src/storage/blobs/s3/blobs-s3.ts',
  'src/engines/sandbox/sandbox.ts',
  'src/engines/plain.ts',
]
const CHOOSERS = ['src/data-folder.ts', 'src/programs.ts']

/** Its modules are one: they assemble the service. */
const TOP_LAYER = 6

/** Reads the table `| layer | modules | they know about |`: a module is what stands in code marks in the second column. */
export function readLayers(markdown: string): Layers {
  const lines = markdown.split('\n')
  const heading = lines.findIndex((line) => /^\| *layer *\| *modules *\|/.test(line))
  if (heading < 0) throw new Error('there is no table of layers')
  const layers = new Map<string, number>()
  for (const line of lines.slice(heading + 2)) {
    const [, layer, modules] = /^\| *(\d+) *\|([^|]*)\|/.exec(line) ?? []
    if (layer === undefined || modules === undefined) break
    for (const [, name = ''] of modules.matchAll(/`([^`]+)`/g)) {
      if (layers.has(name)) throw new Error(`${name} stands in the table twice`)
      layers.set(name, Number(layer))
    }
  }
  return layers
}

/** Modules that are in `src/` and not in the table, and the other way round. */
export function strayModules(sources: readonly Source[], layers: Layers): string[] {
  const modules = new Set(ofService(sources).map(({ path }) => moduleOf(path)))
  return [
    ...[...modules].filter((name) => !layers.has(name)).map((name) => `src/${name} is not in the table of layers`),
    ...[...layers.keys()].filter((name) => !modules.has(name)).map((name) => `the table has ${name}, src/ has not`),
  ]
}

/** Imports that go up, sideways, past an index.ts, to an adapter, out of src/, or by a computed name. */
export function crossings(sources: readonly Source[], layers: Layers): string[] {
  return ofService(sources).flatMap(({ path, text }) => {
    const violations = importsOf(text)
      .filter((specifier) => specifier.startsWith('.'))
      .map((specifier) => [specifier, faultOf(path, join(dirname(path), specifier), layers)] as const)
      .filter(([, fault]) => fault !== undefined)
      .map(([specifier, fault]) => `${path} imports '${specifier}': ${fault}`)
    if (hasComputedImport(text)) violations.push(`${path} imports a computed name, which cannot be checked`)
    return violations
  })
}

function faultOf(from: string, to: string, layers: Layers): string | undefined {
  if (!to.startsWith('src/')) return to.endsWith('.ts') ? 'that is outside of src/' : undefined
  if (ADAPTERS.includes(to))
    return CHOOSERS.includes(from) ? undefined : `that is an adapter, and only ${CHOOSERS.join(', ')} choose those`
  const [ours, theirs] = [moduleOf(from), moduleOf(to)]
  const [ourLayer = Number.NaN, theirLayer = Number.NaN] = [layers.get(ours), layers.get(theirs)]
  if (ours === theirs || (ourLayer === TOP_LAYER && theirLayer === TOP_LAYER)) return undefined
  if (theirLayer > ourLayer) return `upward, from ${ours} on layer ${ourLayer} to ${theirs} on layer ${theirLayer}`
  if (theirLayer === ourLayer) return `sideways, from ${ours} to ${theirs}, both on layer ${ourLayer}`
  if (!isLooseFile(theirs) && to !== `src/${theirs}index.ts`) return `past the index.ts of ${theirs}`
  return undefined
}

const isLooseFile = (name: string): boolean => !name.endsWith('/')

/** `src/apps/apps.ts` is in `apps/`; `src/main.ts` is in no folder and stands for itself. */
function moduleOf(path: string): string {
  const [, first = '', ...rest] = path.split('/')
  return rest.length > 0 ? `${first}/` : first
}
