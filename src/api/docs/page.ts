/** The OpenAPI document as one HTML page: no script, nothing from other hosts, and every value escaped by its tag. */
import { PROBLEMS, type Reason } from '../../contract/index.ts'
import { curlOf, shellSettings } from './example.ts'
import { type Html, html } from './html.ts'
import type { OpenApi, OpenApiOperation } from './openapi.ts'
import { type Components, type Direction, fieldList, need, prose, resolve, type Shape, typeInWords } from './schema.ts'
import { STYLE } from './style.ts'

export type RouteEntry = { method: string; path: string; operation: OpenApiOperation }
export type RouteGroup = { tag: string; entries: RouteEntry[] }
type Parameter = { name: string; in: string; required: boolean; description?: string; schema: Shape }

const WHO: Record<OpenApiOperation['x-access'], string> = {
  public: 'Every client, no credentials needed',
  known: 'Clients with API credentials or a session',
  session: 'Users who are logged in to the portal',
  operator: 'Owners of an account that operates the installation (setting `operatorAccounts`)',
  viewer: 'Viewers, developers and owners of the account',
  developer: 'Developers and owners of the account',
  owner: 'Owners of the account',
}

export function renderDocs(document: OpenApi): string {
  const { title, version } = document.info
  const { components, groups } = partsOf(document)
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} API ${version}</title>
${STYLE}
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="top"><p><a href="#content"><strong>${title}</strong> API</a> <span class="version">${version}</span></p>
<p><a href="/docs/">Guides</a> · <a href="/openapi.json">OpenAPI document</a></p></header>
<nav aria-label="Routes">${sideList(groups)}</nav>
<main id="content">
${start(document)}
${groups.map(
  ({ tag, entries }) => html`
<section aria-labelledby="${tagId(tag)}"><h2 id="${tagId(tag)}">${tag}</h2>
${routesOf(entries, components)}</section>`,
)}
<section aria-labelledby="schemas"><h2 id="schemas">Schemas</h2>
${schemasOf(components)}
</section>
</main>
</body>
</html>
`.text
}

export function partsOf(document: OpenApi): { components: Components; groups: RouteGroup[] } {
  const groups = document.tags.map(({ name }) => ({ tag: name, entries: entriesOf(document, name) }))
  return { components: document.components.schemas as Components, groups }
}

export const start = ({ info: { title, description }, servers, paths }: OpenApi): Html => html`
<section class="start" id="start" aria-labelledby="start-title">
<div><h1 id="start-title">${title} API</h1>
<p class="lead">${prose(description)}</p>
<p>Programs send an API user id and its password by Basic authentication; an owner makes them with
<code>headland credentials create</code>. An error is JSON with a <code>reason</code> to branch on, which never
changes, and a message for people, which may.</p></div>
<div class="beside"><h2 class="label">Set once, then paste any example</h2>
${shell(shellSettings(servers[0]?.url ?? '', Object.keys(paths)))}</div>
</section>`

export const routesOf = (entries: readonly RouteEntry[], components: Components): Html =>
  html`${entries.map((entry) => route(entry, components))}`

export const schemasOf = (components: Components): Html =>
  html`${Object.entries(components).map(([name, shape]) => component(name, shape, components))}`

function entriesOf({ paths }: OpenApi, tag: string): RouteEntry[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { tags }]) => tags.includes(tag))
      .map(([method, operation]) => ({ method, path, operation })),
  )
}

export const tagId = (tag: string): string => `tag-${tag.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`

export const badge = (method: string): Html => html`<span class="method ${method}">${method.toUpperCase()}</span>`

const sideList = (groups: readonly RouteGroup[]): Html => html`<ul>
${groups.map(
  ({ tag, entries }) => html`<li><a class="tag" href="#${tagId(tag)}">${tag}</a><ul>
${entries.map(
  ({ method, operation }) => html`<li><a href="#${operation.operationId}">${badge(method)}
<span>${operation.summary}</span></a></li>`,
)}</ul></li>`,
)}<li><a class="tag" href="#schemas">Schemas</a></li></ul>`

function route({ method, path, operation }: RouteEntry, components: Components): Html {
  const { operationId, summary } = operation
  const parameters = operation.parameters as Parameter[]
  return html`
<article class="route" id="${operationId}" aria-labelledby="${operationId}-title">
<div class="about"><h3 id="${operationId}-title"><a href="#${operationId}">${summary}</a></h3>
<p class="address">${badge(method)} <code>${address(path)}</code></p>
<p class="who"><span class="label">Who may call</span> ${WHO[operation['x-access']]}</p></div>
<div class="beside"><h4 class="label">Example</h4>
${shell(curlOf(method, path, operation, components))}</div>
<div class="detail">${parameters.length > 0 ? parameterTable(parameters) : undefined}
${requestBody(operation, components)}${reply(operation, components)}${errors(operation['x-reasons'])}</div>
</article>`
}

/** Parameters are highlighted, and a long path can break after a slash. */
const address = (path: string): Html =>
  html`${path
    .split(/(\{\w+\}|\/)/)
    .map((part) => (part === '/' ? html`/<wbr>` : part.startsWith('{') ? html`<b>${part}</b>` : html`${part}`))}`

/** One click selects it all; a long address can break after a slash, on the screen only. */
const shell = (text: string): Html =>
  html`<pre><code>${text.split(/(?<=\/)/).map((part) => html`${part}<wbr>`)}</code></pre>`

const parameterTable = (parameters: Parameter[]): Html => html`<h4 class="label">Parameters</h4>
<table class="parameters"><thead><tr><th scope="col">Name</th><th scope="col">In</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead>
<tbody>${parameters.map(
  ({ name, in: place, required, description, schema }) => html`
<tr><th scope="row"><code class="name">${name}</code> ${need(required)}</th>
<td class="place">${place}</td><td class="type">${typeInWords(schema)}</td><td>${prose(description)}</td></tr>`,
)}</tbody></table>`

const part = (heading: string, what: Html): Html =>
  html`<div class="part"><h4 class="label">${heading}</h4> <span>${what}</span></div>`

function requestBody({ requestBody }: OpenApiOperation, components: Components): Html | undefined {
  if (!requestBody) return undefined
  const { content, required } = requestBody
  const of = schemaOf(content)
  const what = of.$ref ? typeInWords(of) : html`${mediaTypes(content)}`
  return html`${part('Body', html`${what} ${need(required)}`)}${of.$ref || of.properties ? fieldsOf(of, components, 'sent') : undefined}`
}

function reply({ responses }: OpenApiOperation, components: Components): Html {
  const { description, content } = responses[200] ?? { description: '' }
  if (!content) return part('Reply', prose(description))
  const of = schemaOf(content)
  const { name = 'object', shape } = resolve(of, components)
  if (shape.type !== 'object') return part('Reply', html`${mediaTypes(content)}`)
  if (Object.keys(shape.properties ?? {}).length === 0) return part('Reply', typeInWords(shape))
  return html`<details><summary><h4 class="label">Reply</h4> <span>${name}</span></summary>
${fieldsOf(of, components, 'received')}</details>`
}

const mediaTypes = (content: Record<string, unknown>): string => Object.keys(content).join(', ')

const schemaOf = (content: Record<string, unknown>): Shape =>
  (Object.values(content)[0] as { schema?: Shape } | undefined)?.schema ?? {}

function fieldsOf(of: Shape, components: Components, as: Direction): Html {
  const { description } = resolve(of, components).shape
  return html`${description ? html`<p>${prose(description)}</p>` : undefined}${fieldList(of, components, as)}`
}

function errors(reasons: readonly Reason[]): Html {
  const sorted = reasons.toSorted((a, b) => PROBLEMS[a].http - PROBLEMS[b].http)
  const statuses = [...new Set(sorted.map((reason) => PROBLEMS[reason].http))]
  return html`<details><summary><h4 class="label">Errors</h4>
${statuses.map((status) => html`<span class="status">${status}</span> `)}</summary>
<table class="errors"><thead><tr><th scope="col">Status</th><th scope="col">Reason, meaning, what to do</th></tr></thead>
<tbody>${sorted.map((reason) => {
    const { http, meaning, todo, retryable } = PROBLEMS[reason]
    return html`
<tr><th scope="row"><span class="status">${http}</span></th><td><code class="name">${reason}</code>
${retryable ? html`<span class="need">worth a retry</span>` : undefined}
<p>${prose(meaning)} <span class="quiet">${prose(todo)}</span></p></td></tr>`
  })}</tbody></table></details>`
}

const component = (name: string, shape: Shape, components: Components): Html => html`
<article class="schema" id="schema-${name}" aria-labelledby="schema-${name}-title">
<h3 id="schema-${name}-title"><a href="#schema-${name}">${name}</a></h3>
${shape.description ? html`<p>${prose(shape.description)}</p>` : undefined}${fieldList(shape, components, 'received', [name])}</article>`
