/**
 * Builds the portal, in a process of its own that `portal.ts` starts: Vite is large, and needed once per change.
 *
 * A build is made in a temporary folder and then renamed to its digest. So a folder with such a name is always complete, and of
 * two builds at the same time, the second one finds the work done.
 */
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { builtIn } from './sources.ts'

const [folder = '', digest = ''] = process.argv.slice(2)
const dist = builtIn(folder)
const KEPT_MS = 60 * 60 * 1000

await mkdir(dist, { recursive: true })
const fresh = await mkdtemp(join(dist, '.making-'))
try {
  const { build } = await import('vite')
  await build({ root: folder, logLevel: 'error', build: { outDir: fresh, emptyOutDir: true } })
  await compress(fresh)
  await rename(fresh, join(dist, digest)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
  })
  await removeOld()
} finally {
  await rm(fresh, { recursive: true, force: true })
}

/** Each file is compressed once, at the highest level, in the encodings that browsers accept. */
async function compress(made: string) {
  for (const entry of await readdir(made, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    const content = await readFile(file)
    const options = { params: { [constants.BROTLI_PARAM_SIZE_HINT]: content.length } }
    await writeFile(`${file}.br`, await promisify(brotliCompress)(content, options))
    await writeFile(`${file}.gz`, await promisify(gzip)(content, { level: 9 }))
  }
}

/**
 * Builds of other sources, and leftovers of killed builds. A recent one is kept: another service may be about to read it into
 * memory.
 */
async function removeOld() {
  for (const name of await readdir(dist)) {
    // A folder of another build process may have been renamed meanwhile.
    const { mtimeMs = Date.now() } = await stat(join(dist, name)).catch(() => ({ mtimeMs: undefined }))
    if (name === digest || Date.now() - mtimeMs < KEPT_MS) continue
    await rm(join(dist, name), { recursive: true, force: true })
  }
}
