/** The documentation as a static site: every link leads somewhere under any path, and nothing comes from elsewhere. */
import assert from 'node:assert/strict'
import { mkdir, readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { test } from 'node:test'
import { makeSite } from '../site/site.ts'
import { versionsOf } from '../site/versions.ts'
import { search, searchable } from '../src/api/docs/manual/match.ts'
import { temporaryFolder } from './support/folder.ts'

const TOP = join(import.meta.dirname, '..')
const OLDER = { name: '0.0.9', path: 'versions/0.0.9/' }
const site = await makeSite({ versions: [{ name: '0.2.0', path: '' }, OLDER], base: '/docs/' })
const textOf = (path: string): string => String(site.get(path) ?? assert.fail(`there is no ${path}`))
const pages = [...site.keys()].filter((path) => path.endsWith('.html'))
const targetsOf = (page: string): string[] =>
  [...page.matchAll(/<[a-z][^>]* (?:href|src)="([^"]*)"/g)].map(([, target = '']) => target)
const idsOf = (page: string) => new Set([...page.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id))
const json = async (file: string) => JSON.parse(await readFile(join(TOP, file), 'utf8'))

/** Links that leave the site lead to pages that name their host. */
const isElsewhere = (target: string): boolean => /^(?:https?|mailto):/.test(target)

test('every link of every page leads to a page, a file or a heading that is there, without naming the path of the site', () => {
  assert.ok(pages.length > 180)
  for (const path of pages.filter((each) => each !== '404.html')) {
    for (const target of targetsOf(textOf(path))) {
      if (isElsewhere(target)) continue
      assert.doesNotMatch(target, /^\//, `${path} links to ${target}`)
      const [to = '', anchor] = target.split('#')
      const found = to === '' ? path : posix.join(posix.dirname(path), to)
      if (found === OLDER.path) continue
      const file = found.endsWith('/') || found === '.' ? posix.join(found, 'index.html') : found
      assert.ok(site.has(file), `${path} links to ${target}`)
      if (anchor !== undefined) assert.ok(idsOf(textOf(file)).has(anchor), `${path} links to ${target}`)
    }
  }
})

test('the page for what is missing has the links of the path under which the site is served', () => {
  const targets = targetsOf(textOf('404.html')).filter((target) => !target.startsWith('#'))
  assert.ok(targets.length > 100)
  for (const target of targets) {
    assert.ok(target.startsWith('/docs/'), target)
    const [path = ''] = target.slice('/docs/'.length).split('#')
    assert.ok(path === OLDER.path || site.has(path.endsWith('/') || path === '' ? `${path}index.html` : path), target)
  }
})

test('a page loads nothing from another host, has no script or style in it, and the headers allow none', () => {
  for (const path of pages) {
    const text = textOf(path)
    assert.doesNotMatch(
      text,
      /<(?:script|link|img|iframe)[^>]* (?:src|href)="(?:https?:)?\/\/|<style|<script>| style="/,
      path,
    )
    assert.doesNotMatch(text, / on[a-z]+="/, path)
  }
  for (const [path, content] of site)
    if (path.endsWith('.css')) assert.doesNotMatch(String(content), /url\(|@import/, path)
  assert.match(textOf('_headers'), /default-src 'none'; script-src 'self';/)
})

test('every page has one heading of the first level, and ids that are there once', () => {
  for (const path of pages) {
    const text = textOf(path)
    assert.equal(text.match(/<h1/g)?.length, 1, path)
    const ids = [...text.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id)
    assert.equal(new Set(ids).size, ids.length, path)
  }
})

test('the search of the site finds a page, a heading, a setting and a route, guides before decisions', () => {
  const parts = JSON.parse(textOf('assets/search.json')).map(searchable)
  const first = (query: string) => search(parts, query)[0]?.address
  assert.match(first('PORT_NOT_BOUND') ?? '', /^troubleshooting\/port-not-bound\//)
  assert.equal(search(parts, 'rollback').find(({ page }) => page === 'Deploy')?.address, 'guides/deploy/#roll-back')
  assert.doesNotMatch(first('rollback') ?? '', /^decisions/)
  assert.match(first('objectStoreCacheBytes') ?? '', /^(?:reference|operate)\//)
  assert.match(first('Create an app POST') ?? '', /^api\/apps\/#/)
})

test('what runs in a browser is JavaScript whose imports are on the site', () => {
  const scripts = [...site.keys()].filter((path) => path.endsWith('.js'))
  assert.equal(scripts.length, 4)
  for (const path of scripts) {
    const text = textOf(path)
    for (const [, name = ''] of text.matchAll(/(?:from |import\()'([^']+)'/g))
      assert.ok(site.has(posix.join('assets', name)), `${path} imports ${name}`)
  }
})

test('the API reference has every route of the document beside it', () => {
  const { paths } = JSON.parse(textOf('api/openapi.json'))
  const routes = pages
    .filter((path) => path.startsWith('api/'))
    .map(textOf)
    .join('\n')
  const ids = Object.values(paths as Record<string, Record<string, { operationId: string }>>).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  )
  assert.ok(ids.length > 80)
  for (const id of ids) assert.equal(routes.split(`<article class="route" id="${id}"`).length, 2, id)
})

test('the version that is made is the first of the list, and the older ones follow it, newest first', async (t) => {
  const older = await temporaryFolder(t)
  for (const name of ['0.9.0', '0.10.0', '1.0.0']) await mkdir(join(older, name))
  assert.deepEqual(await versionsOf('1.0.0', older), [
    { name: '1.0.0', path: '' },
    { name: '0.10.0', path: 'versions/0.10.0/' },
    { name: '0.9.0', path: 'versions/0.9.0/' },
  ])
  assert.match(textOf('guides/deploy/index.html'), /<a href="\.\.\/\.\.\/versions\/0\.0\.9\/">0\.0\.9<\/a>/)
})

test('a host installs the same packages for the site as a checkout has', async () => {
  const [ours, all] = [(await json('site/package.json')).dependencies, (await json('package.json')).dependencies]
  for (const [name, version] of Object.entries(ours)) assert.equal(version, all[name], name)
  const locked = (await json('site/package-lock.json')).packages
  for (const [name, version] of Object.entries(ours)) assert.equal(locked[`node_modules/${name}`].version, version)
})
