/** The API reference: a page for each group of routes and one for the schemas, from the document at `/openapi.json`. */
import { type Html, html } from '../src/api/docs/html.ts'
import type { PartText } from '../src/api/docs/manual/match.ts'
import { BASE } from '../src/api/docs/manual/pages.ts'
import type { Heading } from '../src/api/docs/manual/render.ts'
import { describeApi, type OpenApi } from '../src/api/docs/openapi.ts'
import { badge, partsOf, type RouteGroup, routesOf, schemasOf, start } from '../src/api/docs/page.ts'
import { createRoutes, type RouteParts } from '../src/api/routes/index.ts'
import { linkFrom } from './addresses.ts'
import type { Entry } from './frame.ts'

export const API = `${BASE}/api`
const SCHEMAS = `${API}/schemas`

export type ReferencePage = Entry & { body: Html; headings: Heading[]; parts: PartText[] }

/** The same document as a service's, with an example for its address. A route needs its parts only when it is called. */
export const readApi = (): OpenApi => describeApi(createRoutes({} as RouteParts), 'https://headland.example.com')

export function referencePages(document: OpenApi): ReferencePage[] {
  const { components, groups } = partsOf(document)
  const schemas = Object.entries(components)
  return [
    {
      address: API,
      title: 'API reference',
      headings: [],
      body: html`${start(document)}
<p>The same as a file for programs: <a href="openapi.json">openapi.json</a>, which every service has at <code>/openapi.json</code>.</p>
<div class="cards">${groups.map(card)}</div>
`,
      parts: [part(API, 'API reference', 'API reference', document.info.description)],
    },
    ...groups.map((group) => pageOf(group, document)),
    {
      address: SCHEMAS,
      title: 'Schemas',
      headings: [],
      body: html`<h1>Schemas</h1><h2 class="unseen">All schemas</h2>${schemasOf(components)}`,
      parts: schemas.map(([name, { description = '', properties = {} }]) =>
        part(`${SCHEMAS}#schema-${name}`, 'Schemas', name, `${description} ${Object.keys(properties).join(' ')}`),
      ),
    },
  ]
}

function pageOf({ tag, entries }: RouteGroup, document: OpenApi): ReferencePage {
  const address = addressOf(tag)
  const { components } = partsOf(document)
  // Each schema is described once, on a page of its own.
  const routes = routesOf(entries, components).text.replaceAll('href="#schema-', `href="${toSchemas(address)}#schema-`)
  return {
    address,
    title: tag,
    headings: entries.map(({ operation }) => ({ level: 2, id: operation.operationId, text: operation.summary })),
    body: html`<h1>${tag}</h1><h2 class="unseen">Routes</h2>${{ ...html``, text: routes }}`,
    parts: entries.map(({ method, path, operation: { operationId, summary } }) =>
      part(`${address}#${operationId}`, `${tag} (API)`, summary, `${method.toUpperCase()} ${path}`),
    ),
  }
}

const addressOf = (tag: string): string => `${API}/${tag.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`

const toSchemas = (address: string): string => linkFrom(`${address.slice(BASE.length + 1)}/`, SCHEMAS)

const card = ({
  tag,
  entries,
}: RouteGroup): Html => html`<section><h2><a href="${addressOf(tag).split('/').at(-1)}/">${tag}</a></h2>
<ul>${entries.map(
  ({ method, operation }) =>
    html`<li><a class="to-route" href="${addressOf(tag).split('/').at(-1)}/#${operation.operationId}">${badge(method)} <span>${operation.summary}</span></a></li>\n`,
)}</ul></section>\n`

const part = (address: string, page: string, heading: string, text: string): PartText => ({
  address,
  page,
  heading,
  text: text.trim(),
})
