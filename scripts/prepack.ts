/**
 * Makes what `npm pack` needs and a checkout does not have: `dist/`, the sources as JavaScript, since Node does not strip types
 * below a `node_modules`; in it the types of the API client, a bundle of the programs, and the lists of what is in the package; and a
 * build of the portal, the only one in its folder. The same commit always makes the same bytes.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { License } from '../portal/licenses.ts'
import { createLog } from '../src/base/index.ts'
import { openPortal } from '../src/portal/index.ts'
import { builtIn, digestOfSources } from '../src/portal/sources.ts'
import { bundlePrograms } from './programs.ts'
import { sbomOf } from './release/sbom.ts'
import { thirdPartyOf } from './release/third-party.ts'

const TOP = fileURLToPath(new URL('..', import.meta.url))

compile()
await bundlePrograms({ from: join(TOP, 'dist'), to: join(TOP, 'dist', 'bundle'), external: 'all' })
listParts(await buildPortal())
setModes()

/** Starts with an empty folder, so that no file stays whose source is gone. Types are checked by `npm run check`, and not here. */
function compile() {
  rmSync(join(TOP, 'dist'), { recursive: true, force: true })
  execFileSync('tsc', ['--project', join(TOP, 'tsconfig.build.json')], { stdio: 'inherit' })
  // The types of `headland/client`, for programs that use it.
  execFileSync('tsc', ['--project', join(TOP, 'src', 'client')], { stdio: 'inherit' })
}

/** Resolves to the folder of the build. */
async function buildPortal(): Promise<string> {
  const portal = openPortal({ log: createLog('warn') })
  await portal.settled
  // The log has the reason.
  if (portal.now().state !== 'ready') process.exit(1)
  const folder = join(TOP, 'portal')
  const dist = builtIn(folder)
  const wanted = digestOfSources(folder) ?? ''
  for (const name of readdirSync(dist)) {
    if (name !== wanted) rmSync(join(dist, name), { recursive: true, force: true })
  }
  return join(dist, wanted)
}

function listParts(portal: string) {
  const read = (file: string) => JSON.parse(readFileSync(file, 'utf8'))
  const bundled: License[] = read(join(portal, 'licenses.json'))
  const sbom = sbomOf({
    manifest: read(join(TOP, 'package.json')),
    lock: read(join(TOP, 'package-lock.json')),
    bundled,
  })
  writeFileSync(join(TOP, 'dist', 'sbom.cdx.json'), `${JSON.stringify(sbom, null, 2)}\n`)
  writeFileSync(join(TOP, 'dist', 'THIRD-PARTY.txt'), thirdPartyOf(bundled))
}

/** npm packs the modes of files as they are, which depend on the umask of whoever made the checkout. */
function setModes() {
  const { files } = JSON.parse(readFileSync(join(TOP, 'package.json'), 'utf8'))
  for (const name of ['package.json', 'README.md', 'LICENSE', ...files]) {
    const path = join(TOP, name)
    if (statSync(path).isFile()) setMode(path)
    else
      for (const entry of readdirSync(path, { recursive: true, withFileTypes: true }))
        if (entry.isFile()) setMode(join(entry.parentPath, entry.name))
  }
}

function setMode(file: string) {
  chmodSync(file, statSync(file).mode & 0o100 ? 0o755 : 0o644)
}
