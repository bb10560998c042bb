/**
 * How many requests reach the app after one post was edited: with a purge that names the post, and with one of everything.
 * A real WordPress, its plugin, and the service. Needs root; takes some minutes: `node bench/learned-caching.ts [PAGES]`.
 */
import { startLearnedSite } from '../test/support/learned-site.ts'

const pages = Number(process.argv[2] ?? 1000)
const ends: (() => unknown)[] = []
const site = await startLearnedSite({ after: (end: () => unknown) => void ends.unshift(end) }, { posts: pages })
try {
  await site.fill()
  const id = site.ids[Math.floor(pages / 2)] as number
  await site.edit(id, 'Edited')
  const [byContent, secondsByContent] = await measured()
  await site.purgeEverything()
  const [byAll, secondsByAll] = await measured()
  const saved = ((1 - byContent.length / byAll.length) * 100).toFixed(1)
  const rows = [
    '| after one of the posts was edited | requests to the app | all pages visited in |',
    '|---|---|---|',
    `| purge of its content (${byContent.join(', ')}) | ${byContent.length} of ${site.paths.length} | ${secondsByContent} s |`,
    `| purge of everything | ${byAll.length} of ${site.paths.length} | ${secondsByAll} s |`,
    `| saved | ${saved} % | |`,
  ]
  process.stdout.write(`${rows.join('\n')}\n`)
} finally {
  for (const end of ends) await end()
}

async function measured(): Promise<[string[], string]> {
  const began = performance.now()
  const asked = await site.visitAll()
  return [asked, ((performance.now() - began) / 1000).toFixed(1)]
}
