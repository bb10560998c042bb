/** The first page: what Headland is, how to start it, and where to read on. */
import { type Html, html } from '../src/api/docs/html.ts'
import { BASE, type Section } from '../src/api/docs/manual/pages.ts'
import { linkFrom } from './addresses.ts'
import { colour } from './colour.ts'

const START = `$ npm ci && npm start
$ headland deploy`

/** Guides that most readers want first. */
const FIRST = ['first-deploy', 'frameworks', 'webhooks', 'caching', 'domains', 'git-push']

const toLink = (address: string): string => linkFrom('', address)

export const homeBody = (sections: readonly Section[]): Html => html`<div class="hero">
<h1>A self-hosted home for headless front ends</h1>
<p class="lead">Type one command, or drop a zip, and get a live site: built in a sandbox, switched without a lost request, kept fresh by your CMS. On your own machines.</p>
<pre tabindex="0"><code>${colour('console', START)}</code></pre>
<p class="actions"><a class="main" href="${toLink(`${BASE}/guides/first-deploy`)}">First deploy in five minutes</a><a href="${toLink(`${BASE}/guides`)}">All guides</a><a href="${toLink(`${BASE}/operate/install`)}">Install it for good</a></p>
</div>
<div class="cards">${sections.filter(({ address }) => address !== '').map(card)}<section><h2><a href="${toLink(`${BASE}/api`)}">API reference</a></h2>
<p>Every call, with an example for curl.</p></section>
</div>
`

function card({ title, address, about, isFolded, pages }: Section): Html {
  const first = FIRST.map((name) => `${address}/${name}`)
  const chosen = address.endsWith('/guides')
    ? first.flatMap((each) => pages.filter((page) => page.address === each))
    : pages.slice(0, 4)
  return html`<section><h2><a href="${toLink(address)}">${title}</a></h2>
<p>${about}</p>${isFolded ? undefined : html`<ul>${chosen.map((page) => html`<li><a href="${toLink(page.address)}">${page.title}</a></li>\n`)}</ul>`}</section>
`
}
