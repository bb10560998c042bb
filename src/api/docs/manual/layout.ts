/**
 * The frame of every page of the documentation: the bar, the list of pages, the text. No script, nothing from other
 * hosts.
 */
import { type Html, html } from '../html.ts'
import { type Hit, MAX_QUERY_LENGTH } from './match.ts'
import { BASE, type ManualPages, type Section } from './pages.ts'
import type { Heading } from './render.ts'

type Shown = { title: string; body: Html; at?: string; headings?: readonly Heading[]; query?: string }

export function frame({ sections }: ManualPages, { title, body, at = '', headings = [], query = '' }: Shown): string {
  const toc = onThisPage(headings)
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title === HOME ? 'Headland documentation' : `${title} · Headland documentation`}</title>
<link rel="stylesheet" href="${BASE}/style.css">
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="bar"><div class="inside">
<a class="brand" href="${BASE}/">${MARK}<span>Headland</span></a><span class="what">Documentation</span>
<form class="search" role="search" action="${BASE}/search" method="get">
<input type="search" name="q" value="${query}" maxlength="${MAX_QUERY_LENGTH}" aria-label="Search the documentation" placeholder="Search">
<button type="submit">Search</button></form>
<nav class="places" aria-label="Elsewhere"><a class="to-pages" href="#pages">Pages</a><a href="${BASE}">API reference</a><a href="/">Portal</a></nav>
</div></header>
<div class="${toc ? 'columns' : 'columns two'}">
<main id="content" tabindex="-1">
${body}</main>
${toc}
<nav class="pages" id="pages" aria-label="Pages">
${sections.map((section) => list(section, at))}</nav>
</div>
</body>
</html>
`.text
}

export const MARK = html`<svg viewBox="0 0 32 32" width="24" height="24" aria-hidden="true"><rect class="sea" width="32" height="32" rx="7"/><path class="land" d="M5 22.5 13.5 9l5 7.5 3-3.5L27 22.5z"/></svg>`

function list({ title, address, isFolded, pages }: Section, at: string): Html {
  const entries = pages.map((page) => html`<li>${link(page.address, html`${page.title}`, at)}</li>\n`)
  if (!isFolded) {
    const heading = address === '' ? html`${title}` : link(address, html`${title}`, at)
    return html`<section><h2>${heading}</h2><ul>${entries}</ul></section>\n`
  }
  const inside = html`<ul><li>${link(address, html`All of them`, at)}</li>\n${entries}</ul>`
  return at === address || at.startsWith(`${address}/`)
    ? html`<details open><summary>${title}</summary>${inside}</details>\n`
    : html`<details><summary>${title}</summary>${inside}</details>\n`
}

const link = (address: string, words: Html, at: string): Html =>
  address === at ? html`<a href="${address}" aria-current="page">${words}</a>` : html`<a href="${address}">${words}</a>`

/** Shown only if there is something to choose from. */
function onThisPage(headings: readonly Heading[]): Html | undefined {
  const shown = headings.filter(({ level }) => level === 2)
  if (shown.length < 3) return undefined
  return html`<nav class="toc" aria-label="On this page"><h2>On this page</h2>
<ul>${shown.map(({ id, text }) => html`<li><a href="#${id}">${text}</a></li>\n`)}</ul></nav>`
}

const HOME = 'Documentation'

export const home = (all: ManualPages): string =>
  frame(all, {
    title: HOME,
    at: `${BASE}/`,
    body: html`<h1>Documentation</h1>
<p>From a zip to a live site that stays fresh. The <a href="${BASE}">API reference</a> has every call.</p>
<div class="cards">${all.sections.filter(({ address }) => address !== '').map(card)}</div>
`,
  })

const card = (section: Section): Html => html`<section><h2><a href="${section.address}">${section.title}</a></h2>
<p>${section.about}</p>${section.isFolded ? undefined : titles(section)}</section>
`

/** A folder without a README is shown as the list of its pages. */
export const sectionPage = (all: ManualPages, section: Section): string =>
  frame(all, {
    title: section.title,
    at: section.address,
    body: html`<h1>${section.title}</h1>
<p>${section.about}</p>${titles(section)}`,
  })

const titles = ({ pages }: Section): Html =>
  html`<ul>${pages.map(({ address, title }) => html`<li><a href="${address}">${title}</a></li>\n`)}</ul>`

export const notFound = (all: ManualPages): string =>
  frame(all, {
    title: 'There is no such page',
    body: html`<h1>There is no such page</h1>
<p>It may have another name in this version. Search for it at the top, or begin at the <a href="${BASE}/">list of all pages</a>.</p>
`,
  })

export const results = (all: ManualPages, query: string, hits: readonly Hit[]): string =>
  frame(all, {
    title: 'Search',
    query,
    body: html`<h1>Search</h1>
<p role="status">${saying(query, hits)}</p>
<ol class="hits">${hits.map(
      ({ address, page, heading, excerpt }) => html`<li><a href="${address}">${heading}</a>
<span class="of">${heading === page ? '' : page}</span><p>${excerpt}</p></li>\n`,
    )}</ol>
`,
  })

function saying(query: string, hits: readonly Hit[]): string {
  if (query.trim() === '') return 'Enter one or more words. A part of a page is found where it has all of them.'
  if (hits.length === 0) return `Nothing has all of these words: ${query}`
  return `${hits.length === 1 ? 'One part' : `${hits.length} parts`} of pages, the best first, for: ${query}`
}
