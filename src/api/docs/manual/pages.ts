/**
 * The pages of the documentation, their order and their addresses. `docs/guides/deploy.md` is served as
 * `/docs/guides/deploy`, and the README of a folder as the folder itself. Only files that were found when the folder
 * was read are served: no path of a request ever becomes a path on the disk.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join, posix, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { blocksOf } from './blocks.ts'
import { plain } from './inline.ts'

export const BASE = '/docs'

export type ManualPage = { address: string /** As `guides/deploy.md`. */; file: string; title: string; text: string }
export type Section = {
  title: string
  address: string
  /** A sentence about its content. */
  about: string
  /** Folded unless one of its pages is open, since the list is long. */
  isFolded: boolean
  pages: ManualPage[]
}
export type Picture = { address: string; file: string }

export type ManualPages = {
  sections: readonly Section[]
  /** By address. */
  pages: ReadonlyMap<string, ManualPage>
  pictures: ReadonlyMap<string, Picture>
}

/** The root of the package, which is as far from `dist/api/docs/manual` as from `src/api/docs/manual`. */
const TOP = fileURLToPath(new URL('../../../..', import.meta.url))

const SECTIONS = [
  { folder: 'guides', title: 'Guides', about: 'Deploy an app, keep it fresh, give it a domain.', isFolded: false },
  {
    folder: 'tutorials',
    title: 'Tutorials',
    about: 'From nothing to something real: a site with its CMS, a machine, an agency.',
    isFolded: false,
  },
  { folder: 'reference', title: 'Reference', about: 'Commands, errors, limits, settings.', isFolded: false },
  {
    folder: 'operate',
    title: 'Operating',
    about: 'Install, back up, upgrade and secure the service.',
    isFolded: false,
  },
  {
    folder: 'troubleshooting',
    title: 'Troubleshooting',
    about: 'A page for each reason why a build or a start fails: what it looks like, and what to do.',
    isFolded: true,
  },
  {
    folder: 'decisions',
    title: 'Decisions',
    about: 'Design decisions, and the reasons for them.',
    isFolded: true,
  },
] as const

/** The order of the first pages in a folder without a README. */
const FIRST = ['install', 'systemd', 'docker', 'upgrade', 'verify', 'backup', 'security', 'capacity']

/** Pages at the root: the changelog and the architecture. */
const MORE = 'More'

/** `more` are files at the root. The package has the changelog only. */
export async function readPages(top = TOP, more: readonly string[] = ['CHANGELOG']): Promise<ManualPages> {
  const files = await filesIn(join(top, 'docs'))
  const written = files.filter((file) => file.endsWith('.md'))
  const texts = await Promise.all(written.map((file) => pageOf(file, join(top, 'docs', file))))
  const others = await Promise.all(more.map((name) => pageOf(`../${name}.md`, join(top, `${name}.md`))))
  const pages = [...texts, ...others]
  const sections = SECTIONS.map((section) => sectionOf(section, texts))
  const rest = pages.filter(({ address }) => !sections.some((each) => isUnder(address, each.address)))
  return {
    sections: [...sections, { title: MORE, address: '', about: '', isFolded: false, pages: rest }],
    pages: new Map(pages.map((page) => [page.address, page])),
    pictures: new Map(
      files
        .filter((file) => /\.(?:png|webp)$/.test(file))
        .map((file) => [`${BASE}/${file}`, { address: `${BASE}/${file}`, file: join(top, 'docs', file) }]),
    ),
  }
}

/** Plain files only: links in the folder are not followed. */
const filesIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, '/'))
    .sort()

async function pageOf(file: string, path: string): Promise<ManualPage> {
  const text = await readFile(path, 'utf8')
  const first = blocksOf(text.slice(0, 1000)).find(({ kind }) => kind === 'heading')
  return { address: addressOf(file), file, title: first?.kind === 'heading' ? plain(first.text) : file, text }
}

export const addressOf = (file: string): string =>
  file.startsWith('../')
    ? `${BASE}/${file.slice('../'.length, -'.md'.length).toLowerCase()}`
    : `${BASE}/${file.replace(/(?:\/README)?\.md$/, '')}`

const isUnder = (address: string, folder: string): boolean => address === folder || address.startsWith(`${folder}/`)

/** In the order in which the README of the folder links its pages; the others by name. */
function sectionOf({ folder, ...words }: (typeof SECTIONS)[number], all: readonly ManualPage[]): Section {
  const address = `${BASE}/${folder}`
  const [readme, pages] = [
    all.find((page) => page.address === address),
    all.filter((page) => page.address.startsWith(`${address}/`)),
  ]
  const place = ({ file }: ManualPage) => {
    const at = readme ? readme.text.indexOf(`](${posix.basename(file)}`) : FIRST.indexOf(posix.basename(file, '.md'))
    return at === -1 ? Number.MAX_SAFE_INTEGER : at
  }
  return { ...words, address, pages: pages.toSorted((a, b) => place(a) - place(b)) }
}

/** The address in this service that a link of a page leads to; undefined if that is not served. */
export function resolverFor({ pages, pictures }: ManualPages, file: string): (target: string) => string | undefined {
  return (target) => {
    if (/^(?:https?|mailto):/.test(target) || target.startsWith('#')) return target
    const [path = '', anchor] = target.split('#', 2)
    const found = posix.normalize(posix.join(posix.dirname(file), path))
    const address = found.endsWith('.md') ? addressOf(found) : `${BASE}/${found}`
    if (!pages.has(address) && !pictures.has(address)) return undefined
    return anchor === undefined ? address : `${address}#${anchor}`
  }
}
