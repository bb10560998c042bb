/** Writes the pages of the site into `dist`: each is the frame with its own text. No package is needed. */
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'

const frame = await readFile('src/frame.html', 'utf8')
const built = new Date().toISOString().replace('T', ' ').replace(/\..*/, ' UTC')

await mkdir('dist', { recursive: true })
for (const file of await readdir('src/pages')) {
  const page = await readFile(`src/pages/${file}`, 'utf8')
  const [, title = ''] = /<h1>(.*?)<\/h1>/.exec(page) ?? []
  await writeFile(
    `dist/${file}`,
    frame.replace('{title}', title).replace('{page}', page.trim()).replace('{built}', built),
  )
  process.stdout.write(`dist/${file}: ${title}\n`)
}
await cp('src/style.css', 'dist/style.css')
process.stdout.write(`The site is built, at ${built}\n`)
