/**
 * Bundles the programs of a checkout, unless the newest bundle is of these sources. `npm ci` runs it. Where it fails, the sources
 * run, and only a start takes longer.
 */
import { readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundled, bundlesOf, newestOf, sourcesOf, stampOf } from '../bin/bundle.js'
import { randomToken } from '../src/base/index.ts'
import { bundlePrograms, PARTS } from './programs.ts'

const TOP = dirname(dirname(fileURLToPath(import.meta.url)))
const BUNDLES = bundlesOf(TOP)

/** It looks for files of its own beside itself, and most processes do not load it. */
const EXTERNAL = ['pg']

/** A process may still load a part of its bundle after newer ones were made. */
const BUNDLES_KEPT = 4

if (!isThere()) {
  try {
    await make()
  } catch (error) {
    process.stderr.write(`headland: no bundle was made, so the sources run, which start more slowly: ${error}\n`)
  }
}

function isThere() {
  return PARTS.every((part) => bundled(TOP, part) !== undefined)
}

async function make() {
  const startedAt = Date.now()
  const name = randomToken()
  const folder = join(BUNDLES, name)
  const modulesOf = await bundlePrograms({ from: join(TOP, 'src'), to: folder, external: EXTERNAL })
  for (const [part, modules] of modulesOf) {
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

function removeOld() {
  const newestFirst = readdirSync(BUNDLES, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => ({ folder: join(BUNDLES, name), madeAt: statSync(join(BUNDLES, name)).mtimeMs }))
    .sort((a, b) => b.madeAt - a.madeAt)
  for (const { folder } of newestFirst.slice(BUNDLES_KEPT)) rmSync(folder, { recursive: true, force: true })
}
