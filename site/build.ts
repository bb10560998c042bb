/**
 * Makes the documentation as a static site: `npm run docs`, or `npm run build` in this folder, as a host of static sites does
 * it. The result is in `site/dist`.
 *
 *   --base /docs/      the path under which it will be served, if that is not the top of a host
 *   --older FOLDER     results of earlier versions, each in a folder of its name
 */
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { makeSite } from './site.ts'
import { OLDER, versionsOf } from './versions.ts'

const { base, older, into } = parseArgs({
  options: {
    base: { type: 'string', default: '/' },
    older: { type: 'string' },
    into: { type: 'string', default: join(import.meta.dirname, 'dist') },
  },
}).values
if (!/^\/(?:.*\/)?$/.test(base)) throw new Error(`--base begins and ends with a slash: ${base}`)

const { version } = JSON.parse(await readFile(join(import.meta.dirname, '..', 'package.json'), 'utf8'))
const versions = await versionsOf(version, older)
const site = await makeSite({ versions, base })
await rm(into, { recursive: true, force: true })
for (const [path, content] of site) {
  const file = join(into, path)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, content)
}
if (older !== undefined)
  for (const { name, path } of versions.slice(1)) await cp(join(older, name), join(into, path), { recursive: true })
process.stdout.write(
  `${site.size} files in ${into}, versions: ${versions.map(({ name }) => name).join(', ')} (the older ones in ${OLDER}/)\n`,
)
