/** Every link of every page leads to an existing file, and to a heading that it has. */
import assert from 'node:assert/strict'
import { readdir, readFile, stat } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { test } from 'node:test'

const TOP = resolve(import.meta.dirname, '..')
/** Third-party pages, files that are not part of the project, and pages whose links are those of a site. */
const ELSEWHERE = ['.git', 'data', 'examples', 'node_modules']

async function pagesIn(folder: string): Promise<string[]> {
  const entries = await readdir(join(TOP, folder), { withFileTypes: true })
  const found = entries.map(async (entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return ELSEWHERE.includes(entry.name) ? [] : pagesIn(path)
    return entry.isFile() && path.endsWith('.md') ? [path] : []
  })
  return (await Promise.all(found)).flat()
}

const pages = await pagesIn('')
const texts = new Map(
  await Promise.all(
    pages.map(async (page): Promise<[string, string]> => [page, await readFile(join(TOP, page), 'utf8')]),
  ),
)

/** Without code, in which links do not count. */
const proseOf = (text: string): string => text.replaceAll(/^( *)```.*?^\1```$/gms, '').replaceAll(/`[^`\n]*`/g, '')

/** As GitHub makes them: small letters, without punctuation, with hyphens for spaces. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of text.replaceAll(/^( *)```.*?^\1```$/gms, '').matchAll(/^#{1,6} +(.+)$/gm)) {
    const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
    const anchor = plain
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-')
    let name = anchor
    for (let count = 1; anchors.has(name); count++) name = `${anchor}-${count}`
    anchors.add(name)
  }
  return anchors
}

const linksOf = (text: string): string[] =>
  [...proseOf(text).matchAll(/\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)/g)].map(([, target = '']) => target)

test('there are pages, and they have links', () => {
  assert.ok(texts.size > 40)
  assert.ok([...texts.values()].flatMap(linksOf).length > 200)
})

for (const [page, text] of texts) {
  const links = linksOf(text).filter((target) => !/^(?:https?|mailto):/.test(target))
  if (links.length === 0) continue
  test(`the links of ${page} lead to existing files and headings`, async () => {
    for (const link of links) {
      const [path = '', anchor] = link.split('#')
      const target = path === '' ? page : relative(TOP, resolve(TOP, dirname(page), decodeURIComponent(path)))
      assert.ok(!target.startsWith('..'), `${link} leaves the project`)
      await assert.doesNotReject(stat(join(TOP, target)), `${link} leads nowhere`)
      if (anchor !== undefined)
        assert.ok(anchorsOf(texts.get(target) ?? '').has(anchor), `${link}: there is no such heading`)
    }
  })
}
