/** All files of the site, from the Markdown of `docs/` and the routes of the API. */
import { readFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { html } from '../src/api/docs/html.ts'
import { blocksOf } from '../src/api/docs/manual/blocks.ts'
import type { PartText } from '../src/api/docs/manual/match.ts'
import {
  BASE,
  type ManualPage,
  type ManualPages,
  readPages,
  resolverFor,
  type Section,
} from '../src/api/docs/manual/pages.ts'
import { render } from '../src/api/docs/manual/render.ts'
import { partsOfOne } from '../src/api/docs/manual/search.ts'
import { folderOf, linkFrom } from './addresses.ts'
import { colour } from './colour.ts'
import { type Entry, type Framing, frame, type Group } from './frame.ts'
import { homeBody } from './home.ts'
import { API, readApi, referencePages } from './reference.ts'
import { HEADERS, ICON, STYLE } from './style.ts'
import type { Version } from './versions.ts'

const TOP = join(import.meta.dirname, '..')

/** Pages at the root of the project that belong to the documentation. */
const MORE = ['CHANGELOG', 'ARCHITECTURE', 'CONTRIBUTING']

/** What runs in a browser: each file with the name that it gets on the site. */
const SCRIPTS = {
  'scheme.js': 'site/client/scheme.ts',
  'page.js': 'site/client/page.ts',
  'search.js': 'site/client/search.ts',
  'match.js': 'src/api/docs/manual/match.ts',
}

export type Site = Map<string, string | Buffer>

type Given = {
  versions: readonly Version[] /** The path under which the site is served; only its 404 page has to know. */
  base: string
}

export async function makeSite({ versions, base }: Given): Promise<Site> {
  const site: Site = new Map()
  const all = await readPages(TOP, MORE)
  const api = readApi()
  const reference = referencePages(api)
  const groups = groupsOf(all, reference)
  const framing: Framing = { versions }
  const parts: PartText[] = []
  const place = ({ address }: Entry) => `${folderOf(address)}index.html`

  const first = { address: `${BASE}/`, title: 'Headland' }
  site.set(place(first), frame({ ...first, body: homeBody(all.sections), groups, kind: 'home' }, framing))
  for (const page of all.pages.values()) {
    const resolve = resolverFor(all, page.file)
    const folder = folderOf(page.address)
    const toLink = (target: string) => {
      const address = resolve(target)
      return address === undefined ? undefined : linkFrom(folder, address)
    }
    const { body, headings } = render(blocksOf(page.text), toLink, colour)
    site.set(place(page), frame({ ...page, body, headings, groups, around: aroundOf(all.sections, page) }, framing))
    parts.push(...partsOfOne(page))
  }
  for (const section of all.sections.filter(({ address }) => address !== '' && !all.pages.has(address))) {
    site.set(place(section), frame({ ...section, body: listOf(section), groups }, framing))
  }
  for (const page of reference) {
    site.set(place(page), frame({ ...page, groups, kind: 'reference' }, framing))
    parts.push(...page.parts)
  }
  site.set(
    '404.html',
    frame({ address: `${BASE}/404`, title: NOT_FOUND, body: notFound(base), groups }, { versions, top: base }),
  )

  for (const [address, { file }] of all.pictures) site.set(address.slice(BASE.length + 1), await readFile(file))
  for (const [name, file] of Object.entries(SCRIPTS)) site.set(`assets/${name}`, await script(file))
  site.set('assets/style.css', STYLE)
  site.set('assets/icon.svg', ICON)
  site.set(
    'assets/search.json',
    JSON.stringify(parts.map(({ address, ...part }) => ({ ...part, address: linkFrom('', address) }))),
  )
  site.set('api/openapi.json', JSON.stringify(api))
  site.set('versions.json', JSON.stringify(versions))
  site.set('_headers', HEADERS)
  return site
}

/** The README of a folder is the first page of its list. */
function groupsOf({ sections, pages }: ManualPages, reference: readonly Entry[]): Group[] {
  const groups = sections.map(({ title, address, isFolded, pages: own }): Group => {
    const entries = own.map(({ address: at, title: words }) => ({ address: at, title: words }))
    const overview = pages.has(address) || isFolded ? [{ address, title: 'Overview' }] : []
    return { title, isFolded, entries: [...overview, ...entries] }
  })
  const api = {
    title: 'API reference',
    isFolded: true,
    entries: reference.map(({ address, title }) => ({ address, title: address === API ? 'Overview' : title })),
  }
  const at = groups.findIndex(({ title }) => title === 'Reference')
  return groups.toSpliced(at + 1, 0, api)
}

/** The pages before and after it in its section. Pages that are looked up, one at a time, have none. */
function aroundOf(sections: readonly Section[], page: ManualPage) {
  const pages =
    sections.find((section) => !section.isFolded && section.address !== '' && section.pages.includes(page))?.pages ?? []
  const at = pages.indexOf(page)
  return { before: pages[at - 1], after: at === -1 ? undefined : pages[at + 1] }
}

const listOf = ({ title, about, address, pages }: Section) => html`<h1>${title}</h1>
<p>${about}</p>
<ul>${pages.map((page) => html`<li><a href="${linkFrom(folderOf(address), page.address)}">${page.title}</a></li>\n`)}</ul>
`

const NOT_FOUND = 'There is no such page'

const notFound = (base: string) => html`<h1>${NOT_FOUND}</h1>
<p>It may have another name in this version. Search for it at the top, or begin at the <a href="${base}">first page</a>.</p>
`

/** Without its types, and with imports as they are named on the site. All scripts are in one folder. */
async function script(file: string): Promise<string> {
  const text = stripTypeScriptTypes(await readFile(join(TOP, file), 'utf8'))
  return text
    .replaceAll(/ from '[^']*?([\w-]+)\.ts'/g, " from './$1.js'")
    .replaceAll(/\bimport\('[^']*?([\w-]+)\.ts'\)/g, "import('./$1.js')")
}
