/**
 * Makes what `npm pack` needs and a checkout does not have: `dist/`, the sources as JavaScript, since Node does not strip types
 * below a `node_modules`; in it the types of the API client and a bundle of the programs; and a build of the portal, the only one in its folder.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createLog } from '../src/base/index.ts'
import { openPortal } from '../src/portal/index.ts'
import { builtIn, digestOfSources } from '../src/portal/sources.ts'
import { bundlePrograms } from './programs.ts'

const TOP = fileURLToPath(new URL('..', import.meta.url))

compile()
await bundlePrograms({ from: join(TOP, 'dist'), to: join(TOP, 'dist', 'bundle'), external: 'all' })
await buildPortal()

/** Starts with an empty folder, so that no file stays whose source is gone. Types are checked by `npm run check`, and not here. */
function compile() {
  rmSync(join(TOP, 'dist'), { recursive: true, force: true })
  execFileSync('tsc', ['--project', join(TOP, 'tsconfig.build.json')], { stdio: 'inherit' })
  // The types of `headland/client`, for programs that use it.
  execFileSync('tsc', ['--project', join(TOP, 'src', 'client')], { stdio: 'inherit' })
}

async function buildPortal() {
  const portal = openPortal({ log: createLog('warn') })
  await portal.settled
  // The log has the reason.
  if (portal.now().state !== 'ready') process.exit(1)
  const folder = join(TOP, 'portal')
  const dist = builtIn(folder)
  const wanted = digestOfSources(folder)
  for (const name of readdirSync(dist)) {
    if (name !== wanted) rmSync(join(dist, name), { recursive: true, force: true })
  }
}
