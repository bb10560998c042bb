/**
 * Bundles the programs of a checkout, unless the newest bundle is of these sources. `npm ci` runs it. Where it fails, the sources
 * run, and only a start takes longer.
 */
import { readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundled, bundlesOf, newestOf, sourcesOf, stampOf } from '../bin/bundle.js'
import { randomToken } from '../src/base/index.ts'
import { bundlePrograms, type Imports } from './programs.ts'

const TOP = dirname(dirname(fileURLToPath(import.meta.url)))
const BUNDLES = bundlesOf(TOP)

/** Both look for files of their own beside themselves, and most processes load neither. */
const EXTERNAL = ['pino', 'pg']

/** A process may still load a part of its bundle after newer ones were made. */
const BUNDLES_KEPT = 4

/** The parts of the programs that a process runs, each with the modules that it begins with. */
const PARTS = {
  'command-line': ['command-line'],
  agent: ['processes/role', 'processes/agent'],
  edge: ['processes/role', 'processes/edge'],
  control: ['processes/role', 'processes/control'],
  files: ['processes/role', 'processes/files'],
  node: ['processes/role', 'processes/node'],
}

const sourceOf = (module: string) => join(TOP, 'src', `${module}.ts`)

if (!isThere()) {
  try {
    await make()
  } catch (error) {
    process.stderr.write(`headland: no bundle was made, so the sources run, which start more slowly: ${error}\n`)
  }
}

function isThere() {
  return Object.keys(PARTS).every((part) => bundled(TOP, { program: 'role', part }) !== undefined)
}

async function make() {
  const startedAt = Date.now()
  const name = randomToken()
  const folder = join(BUNDLES, name)
  const imports = await bundlePrograms({ from: join(TOP, 'src'), to: folder, external: EXTERNAL })
  // Without it, Node reads each file once more to find out what kind of module it is.
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
  for (const [part, [first = '', second]] of Object.entries(PARTS)) {
    const modules = new Set<string>()
    // What a role begins with has the other roles among its dynamic imports.
    follow(imports, modules, { file: sourceOf(first), withDynamic: second === undefined })
    if (second !== undefined) follow(imports, modules, { file: sourceOf(second), withDynamic: true })
    // npm writes its list whenever it changes a package.
    const files = [...modules, join(TOP, 'package.json'), join(TOP, 'node_modules', '.package-lock.json')]
    if (files.some((file) => statSync(file).mtimeMs >= startedAt)) throw new Error('a source changed meanwhile.')
    writeFileSync(sourcesOf(folder, part), JSON.stringify(files.map((file) => [relative(TOP, file), stampOf(file)])))
  }
  const draft = join(folder, 'newest.json')
  writeFileSync(draft, JSON.stringify({ madeIn: TOP, name }))
  renameSync(draft, newestOf(TOP))
  removeOld()
}

function follow(imports: Imports, into: Set<string>, { file, withDynamic }: { file: string; withDynamic: boolean }) {
  if (into.has(file)) return
  into.add(file)
  const found = imports.get(file)
  for (const next of found?.static ?? []) follow(imports, into, { file: next, withDynamic })
  for (const next of withDynamic ? (found?.dynamic ?? []) : []) follow(imports, into, { file: next, withDynamic })
}

function removeOld() {
  const newestFirst = readdirSync(BUNDLES, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => ({ folder: join(BUNDLES, name), madeAt: statSync(join(BUNDLES, name)).mtimeMs }))
    .sort((a, b) => b.madeAt - a.madeAt)
  for (const { folder } of newestFirst.slice(BUNDLES_KEPT)) rmSync(folder, { recursive: true, force: true })
}
