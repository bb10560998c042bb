// Finds the bundle of a checkout: its programs in a few files instead of some hundred, since most of the CPU time of a start is
// Node looking for modules. It is a cache: unless every source is as it was when the bundle was made, the sources run.
import module from 'node:module'

const require = module.createRequire(import.meta.url)
// An import of these would load what a start does not need.
const { readFileSync, statSync } = require('node:fs')
const { join } = require('node:path')

export const bundlesOf = (top) => join(top, 'node_modules', '.cache', 'headland', 'bundles')

/** Names the newest bundle. It is written last, so a bundle that it names is whole. Checkouts may share their packages by a link. */
export const newestOf = (top) => join(bundlesOf(top), `newest${top.replaceAll(/[^A-Za-z0-9]+/g, '-').slice(-200)}.json`)

/** What a part of a program was made of. Only the sources of that part are looked at, since this is done at every start. */
export const sourcesOf = (folder, part) => join(folder, `${part}.json`)

/** The file of the bundle that this part begins with, or undefined where the sources have to run. */
export function bundled(top, part) {
  try {
    const { madeIn, name } = JSON.parse(readFileSync(newestOf(top), 'utf8'))
    if (madeIn !== top) return undefined
    const folder = join(bundlesOf(top), name)
    const sources = JSON.parse(readFileSync(sourcesOf(folder, part), 'utf8'))
    const isFresh = sources.every(([path, stamp]) => stampOf(`${top}/${path}`) === stamp)
    return isFresh ? join(folder, `${part}.cjs`) : undefined
  } catch {
    // There is none, a source is gone, or another version made it in another form. The sources always run.
    return undefined
  }
}

/** Says whether a file has changed. Reading all of them would take longer than the bundle saves. */
export function stampOf(path) {
  const { size, mtimeMs } = statSync(path)
  return `${size}-${mtimeMs}`
}
