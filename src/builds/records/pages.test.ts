import assert from 'node:assert/strict'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { pageName, pagesIn } from './pages.ts'

async function folderOf(t: TestContext, ...paths: string[]): Promise<string> {
  const folder = await temporaryFolder(t)
  for (const path of paths) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), '')
  }
  return folder
}

test('pages of files and of servers have the names that visitors know', () => {
  const names = [
    'index.html',
    'blog/one/index.html',
    'about.html',
    '.next/server/app/index.html',
    'apps/web/.next/server/app/blog/one.html',
    '.next/server/pages/en/about.html',
    '.output/public/blog/index.html',
    'dist/client/x.HTM',
    'build/prerendered/y.html',
    'docs/reindex.html',
  ].map(pageName)
  assert.deepEqual(names, [
    '/',
    '/blog/one',
    '/about',
    '/',
    '/blog/one',
    '/en/about',
    '/blog',
    '/x',
    '/y',
    '/docs/reindex',
  ])
})

test('every HTML document is a page; scripts, packages, caches and links are none', async (t) => {
  const folder = await folderOf(
    t,
    ...['index.html', 'a/index.html', 'a.js', 'node_modules/lib/docs.html', '.next/cache/x.html', 'docs/cache/x.html'],
  )
  await symlink('/', join(folder, 'root'))
  await symlink('index.html', join(folder, 'other.html'))
  assert.deepEqual(await pagesIn(folder), new Set(['/', '/a', '/docs/cache/x']))
})

test('a page that two folders have is one page', async (t) => {
  const folder = await folderOf(t, '.next/server/app/a.html', '.next/standalone/.next/server/app/a.html')
  assert.deepEqual(await pagesIn(folder), new Set(['/a']))
})

test('looking for pages ends, however many there are and however deep they lie', async (t) => {
  const folder = await folderOf(t, ...Array.from({ length: 40 }, (_, at) => `${at}.html`), 'a/b/c/d.html')
  const limits = { entries: 1000, pages: 1000, depth: 10 }
  assert.equal((await pagesIn(folder, { ...limits, pages: 7 })).size, 7)
  assert.ok((await pagesIn(folder, { ...limits, entries: 9 })).size <= 9)
  assert.equal((await pagesIn(folder, { ...limits, depth: 1 })).has('/a/b/c/d'), false)
})
