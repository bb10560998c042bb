/** A build of one's own: whatever it is, it is the script `build`, and what it leaves is run by the script `start`. */
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'

const out = new URL('./dist-server/', import.meta.url)
const source = new URL('./src/', import.meta.url)

await rm(out, { recursive: true, force: true })
await mkdir(out)
await cp(new URL('server.js', source), new URL('server.js', out))

const template = await readFile(new URL('page.html', source), 'utf8')
const pages = { '/': 'Hello from a custom build', '/about': 'Rendered by the build', 404: 'No such page here' }
const rendered = Object.entries(pages).map(([path, title]) => [path, template.replaceAll('{title}', title)])
await writeFile(new URL('pages.json', out), JSON.stringify(Object.fromEntries(rendered)))
