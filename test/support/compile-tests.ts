/**
 * Compiles all test files into the folder of NODE_COMPILE_CACHE, in this one process: the process of each test file would
 * load the compiler first, for one file. None of them is run, since none of their imports is found.
 */
import { globSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const TOP = join(import.meta.dirname, '..', '..')
const FOLDERS = ['src', 'portal', 'torture', 'test']

class OnlyCompiled extends Error {}

const files = globSync([`{${FOLDERS}}/**/*.test.ts`, 'test/e2e/**/*.ts'], { cwd: TOP }).map(
  (path) => pathToFileURL(join(TOP, path)).href,
)
const known = new Set<string | undefined>(files)
registerHooks({
  resolve(specifier, context, next) {
    if (known.has(context.parentURL)) throw new OnlyCompiled()
    return next(specifier, context)
  },
})
for (const file of files) {
  await import(file).catch((error) => {
    if (!(error instanceof OnlyCompiled)) throw error
  })
}
