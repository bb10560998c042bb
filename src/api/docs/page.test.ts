import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resources, schema } from '../../contract/index.ts'
import { listOf, pageQuery, type Route, route } from '../route.ts'
import { describeApi } from './openapi.ts'
import { renderDocs } from './page.ts'

const SERVER = 'http://127.0.0.1:8080'
const APPS = '/v1/accounts/{account}/apps'
const handle = () => undefined

const ROUTES: Route[] = [
  route({
    ...{ method: 'POST', path: APPS, tag: 'Apps', summary: 'Create an app', access: 'developer', handle },
    query: schema.object({ appId: schema.string() }),
    body: resources.newApp,
    reply: null,
    problems: ['APP_EXISTS'],
  }),
  route({
    ...{ method: 'GET', path: APPS, tag: 'Apps', summary: 'List the apps', access: 'viewer', handle },
    query: pageQuery,
    reply: listOf('apps', resources.app),
  }),
  route({
    ...{ method: 'POST', path: `${APPS}/{app}:wait`, tag: 'Operations', summary: 'Wait', access: 'known', handle },
    body: resources.empty,
    bodyIsOptional: true,
    reply: resources.operation,
  }),
  route({
    ...{ method: 'PATCH', path: `${APPS}/{app}`, tag: 'Apps', summary: 'Change it', access: 'owner', handle },
    body: resources.changedEnvironment,
    reply: resources.empty,
  }),
  route({
    ...{ method: 'POST', path: `${APPS}/{app}:upload`, tag: 'Uploads', summary: 'Upload', access: 'developer', handle },
    takesForm: true,
    reply: { mediaType: 'application/json' },
  }),
  route({
    ...{ method: 'GET', path: '/docs', tag: 'Documentation', summary: 'This page', access: 'public', handle },
    reply: { mediaType: 'text/html' },
  }),
]

/** The text of the page, without markup and style. */
const readable = (page: string): string =>
  page
    .replace(/<style>.*<\/style>/s, '')
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")

const page = renderDocs(describeApi(ROUTES, SERVER))

/** The part of the page about one route, as text. */
function partAbout(summary: string): string {
  const found = page.split('<article ').find((part) => part.includes(`>${summary}</a></h3>`))
  assert.ok(found, `no part about: ${summary}`)
  return readable(`<article ${found.split('</article>')[0]}`)
}

test('every path stands on the page with its method, and the side list leads to it', () => {
  const document = describeApi(ROUTES, SERVER)
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, { summary, operationId }] of Object.entries(methods)) {
      const about = partAbout(summary)
      assert.ok(about.includes(path), `${path} is not in: ${about}`)
      assert.ok(about.includes(method.toUpperCase()))
      assert.ok(page.includes(`<article class="route" id="${operationId}"`))
      assert.ok(page.includes(`<a href="#${operationId}">`))
    }
  }
})

test('a route shows who may call it, what it takes and what can go wrong', () => {
  const about = partAbout('Create an app')
  assert.match(about, /Developers and owners of the account/)
  assert.match(about, /appId\s+required/)
  assert.match(about, /region\s+required\s+one of regions\/US-C/)
  assert.match(about, /409\s*APP_EXISTS\s+The account has an app of that name/)
})

test('the example logs in where the route needs it, and sends a body that the schema accepts', () => {
  const about = partAbout('Create an app')
  assert.ok(about.includes('curl -X POST -u "$API_USER_ID:$API_PASSWORD"'))
  assert.ok(about.includes('"$BASE_URL/v1/accounts/$ACCOUNT/apps?appId=shop"'))
  const body = /-d '(\{.*?\n {2}\})'/s.exec(about)?.[1] ?? ''
  assert.deepEqual(JSON.parse(body), { region: 'regions/US-C', uploadable: {} })
  assert.doesNotMatch(partAbout('This page'), /-u /)
})

test('a shell variable before a colon stands in braces, and an empty body is left out', () => {
  const about = partAbout('Wait')
  assert.match(about, /\/apps\/\$\{APP\}:wait"/)
  assert.doesNotMatch(about, / -d /)
})

test('a route that takes a form is shown with the file that it wants', () => {
  const about = partAbout('Upload')
  assert.match(about, /repository\s+required\s+file of type application\/zip/)
  assert.ok(about.includes("-F 'repository=@file.zip;type=application/zip'"))
})

test('text from the document cannot become markup', () => {
  const evil = `"><script>alert('1')</script><img src=x onerror="1">`
  const text = schema.string({ description: `\`${evil}\` ${evil}`, pattern: evil, enum: [evil] })
  const hostile = route({
    method: 'POST',
    path: `/${evil}/{account}`,
    tag: evil,
    summary: evil,
    access: 'public',
    query: schema.object({ [evil]: text, pattern: schema.string({ pattern: evil }) }),
    body: schema.object({ [evil]: text, inner: schema.object({ [evil]: text }) }, { title: evil, description: evil }),
    reply: schema.array(schema.object({ [evil]: text }, { title: `${evil}2` })),
    handle,
  })
  const document = describeApi([hostile], `http://127.0.0.1:8080/${evil}`)
  document.info = { title: evil, version: evil, description: evil }
  const marked = renderDocs(document)
  assert.doesNotMatch(marked, /<script|<img/)
  for (const [tag] of marked.matchAll(/<[a-z][^>]*>/g)) assert.doesNotMatch(tag, /onerror="|alert\('/)
  assert.ok(marked.includes('&lt;script&gt;'))
})

test('the page has no script and names no other host', () => {
  assert.doesNotMatch(page, /<script|javascript:|<link|<iframe|@import|url\(/i)
  assert.doesNotMatch(page, /\son\w+="/)
  for (const [address] of page.matchAll(/\w+:\/\/[^\s"'<&]+/g)) assert.equal(new URL(address).origin, SERVER)
  for (const [, target = ''] of page.matchAll(/(?:href|src|action)="([^"]*)"/g)) assert.match(target, /^(#|\/(?!\/))/)
})

test('every link within the page has its target, and every id is there once', () => {
  const ids = [...page.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id)
  assert.equal(new Set(ids).size, ids.length)
  for (const [, id] of page.matchAll(/href="#([^"]*)"/g)) assert.ok(ids.includes(id), `nothing has the id ${id}`)
})

test('headings go down one level at a time', () => {
  const levels = [...page.matchAll(/<h(\d)/g)].map(([, level]) => Number(level))
  assert.equal(levels[0], 1)
  for (const [index, level] of levels.entries()) assert.ok(level <= (levels[index - 1] ?? 0) + 1)
})

test('a field that may be null says so, and shows the fields that it has otherwise', () => {
  assert.match(page, /<a href="#schema-Requester">Requester<\/a> or null/)
  assert.match(page, /Fields of Requester/)
})
