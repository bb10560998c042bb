/** The frame of every page of the site: the bar, the list of pages, the text, what comes before and after it. */
import { type Html, html } from '../src/api/docs/html.ts'
import { MARK } from '../src/api/docs/manual/layout.ts'
import { BASE } from '../src/api/docs/manual/pages.ts'
import type { Heading } from '../src/api/docs/manual/render.ts'
import { folderOf, linkFrom, topFrom } from './addresses.ts'
import type { Version } from './versions.ts'

export type Entry = { address: string; title: string }
export type Group = { title: string; isFolded: boolean; entries: readonly Entry[] }

export type Shown = {
  title: string
  address: string
  body: Html
  headings?: readonly Heading[]
  groups: readonly Group[]
  /** Pages that are read one after another. */
  around?: { before?: Entry | undefined; after?: Entry | undefined }
  /** The class of the text, where it has a form of its own. */
  kind?: 'reference' | 'home'
}

export type Framing = {
  versions: readonly Version[] /** Of a page that answers under any address: from there, no link can be relative. */
  top?: string
}

export function frame(shown: Shown, { versions, top }: Framing): string {
  const { title, address, body, headings = [], groups, around, kind } = shown
  const folder = folderOf(address)
  const to = (target: string): string =>
    top === undefined ? linkFrom(folder, target) : top + linkFrom('', target).replace(/^\.\//, '')
  const root = top ?? topFrom(folder)
  const toc = onThisPage(headings)
  return html`<!doctype html>
<html lang="en" data-top="${root}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${kind === 'home' ? 'Headland documentation' : `${title} · Headland documentation`}</title>
<link rel="icon" href="${root}assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${root}assets/style.css">
<script src="${root}assets/scheme.js"></script>
<script type="module" src="${root}assets/page.js"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="bar"><div class="inside">
<a class="brand" href="${to(`${BASE}/`)}">${MARK}<span>Headland</span></a>
${versionMenu(versions, root)}
<button type="button" class="find" data-search hidden>${LENS}<span>Search</span><kbd>/</kbd></button>
<nav class="places" aria-label="Elsewhere"><a class="to-pages" href="#pages">Pages</a><a href="${to(`${BASE}/api`)}">API</a></nav>
<button type="button" class="scheme" data-scheme aria-pressed="false" aria-label="Dark" title="Light or dark" hidden>${CONTRAST}</button>
</div></header>
<div class="${toc ? 'columns' : 'columns two'}">
<main id="content" tabindex="-1"${kind ? html` class="${kind}"` : undefined}>
${body}${around ? nextTo(around, to) : undefined}</main>
${toc}
<nav class="pages" id="pages" aria-label="Pages">
${groups.map((group) => listed(group, address, to))}</nav>
</div>
${SEARCH}
</body>
</html>
`.text
}

type To = (address: string) => string

const CONTRAST = html`<svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true"><circle cx="10" cy="10" r="7.2" fill="none" stroke="currentColor" stroke-width="1.6"/><path d="M10 2.8a7.2 7.2 0 0 1 0 14.4z" fill="currentColor"/></svg>`

const LENS = html`<svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true"><path d="M8.5 3.5a5 5 0 1 1 0 10 5 5 0 0 1 0-10zM12.2 12.2l4.3 4.3" fill="none" stroke="currentColor" stroke-width="1.7" stroke-linecap="round"/></svg>`

const SEARCH = html`<dialog class="search-box" aria-label="Search the documentation" data-dialog>
<form method="dialog"><input type="search" placeholder="Search the documentation" aria-label="Words to look for" maxlength="100" autocomplete="off" spellcheck="false">
<button type="submit" aria-label="Close">Esc</button></form>
<p role="status"></p><ol class="hits"></ol></dialog>`

/** The list as it was when this version was made; a script replaces it by what the site has now. */
function versionMenu(versions: readonly Version[], root: string): Html {
  const [current] = versions
  const entries = versions.map(({ name, path }) => html`<li><a href="${`${root}${path}`}">${name}</a></li>\n`)
  return html`<details class="versions" data-versions><summary aria-label="Version ${current?.name ?? ''}">${current?.name ?? ''}</summary>
<ul>${entries}</ul></details>`
}

function listed({ title, isFolded, entries }: Group, at: string, to: To): Html {
  const list = html`<ul>${entries.map(
    ({ address, title: words }) =>
      html`<li><a href="${to(address)}"${address === at ? html` aria-current="page"` : undefined}>${words}</a></li>\n`,
  )}</ul>`
  if (!isFolded) return html`<section><h2>${title}</h2>${list}</section>\n`
  const isOpen = entries.some(({ address }) => address === at)
  return html`<details${isOpen ? html` open` : undefined}><summary>${title}</summary>${list}</details>\n`
}

/** Shown only if there is something to choose from. */
function onThisPage(headings: readonly Heading[]): Html | undefined {
  const shown = headings.filter(({ level }) => level === 2)
  if (shown.length < 2) return undefined
  return html`<nav class="toc" aria-label="On this page"><h2>On this page</h2>
<ul>${shown.map(({ id, text }) => html`<li><a href="#${id}">${text}</a></li>\n`)}</ul></nav>`
}

function nextTo({ before, after }: NonNullable<Shown['around']>, to: To): Html | undefined {
  if (!before && !after) return undefined
  const link = (entry: Entry, words: string, side: string) =>
    html`<a class="${side}" href="${to(entry.address)}"><span>${words}</span>${entry.title}</a>`
  return html`<nav class="around" aria-label="Next to this page">${before && link(before, 'Before', 'before')}${after && link(after, 'Next', 'after')}</nav>\n`
}
