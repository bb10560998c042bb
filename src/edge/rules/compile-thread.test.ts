import assert from 'node:assert/strict'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { compileInThread } from './compile-thread.ts'
import { RULE_LIMITS } from './limits.ts'

test('the files of the output decide which rules are hidden, and which lead nowhere', async (t) => {
  const folder = await temporaryFolder(t)
  await mkdir(join(folder, 'blog'))
  for (const file of ['index.html', 'about.html', 'blog/index.html']) await writeFile(join(folder, file), 'x')
  // A link is not served, so it hides nothing.
  await symlink('about.html', join(folder, 'linked.html'))
  const _redirects = '/about /x\n/blog /x\n/linked /x\n/other /x\n/* /index.html 200\n/y /nothing.html 200'
  for (const basePath of ['', '/docs']) {
    const { rules, warnings } = await compileInThread({ texts: { _redirects }, basePath, allowedHosts: [], folder })
    assert.equal(rules?.redirects.length, 6)
    assert.deepEqual(
      warnings.map((warning) => warning.slice(0, warning.indexOf(':'))),
      ['_redirects, line 1', '_redirects, line 2', '_redirects, line 6'],
      basePath,
    )
  }
})

/** A quarter of the size that is read, so that it takes no long time on a busy machine. */
const BYTES = RULE_LIMITS.fileBytes / 4

const HOSTILE = {
  _headers: `/*\n${' x:y\n'.repeat(BYTES / 5 - 1)}`,
  'netlify.toml': `a${'.a'.repeat(BYTES / 2 - 10)} = 1`,
  'vercel.json': `{"a":${'['.repeat(BYTES / 2 - 10)}${']'.repeat(BYTES / 2 - 10)}}`,
}

test('hostile files are read to an end, and what is good in others applies', async (t) => {
  const folder = await temporaryFolder(t)
  const texts = { ...HOSTILE, _redirects: '/a /b' }
  const { rules, warnings } = await compileInThread({ texts, basePath: '', allowedHosts: [], folder })
  assert.equal(rules?.redirects.length, 1)
  assert.equal(rules?.headers.length, 1)
  assert.equal(warnings.length, RULE_LIMITS.warnings + 1)
})

test('where the thread fails, the rules are left out with a warning', async (t) => {
  const folder = join(await temporaryFolder(t), 'not-there')
  const task = { texts: { _redirects: '/a /b' }, basePath: '', allowedHosts: [], folder }
  const { rules, warnings } = await compileInThread(task)
  assert.equal(rules, undefined)
  assert.match(warnings.join('\n'), /^_redirects: reading the rules failed: ENOENT.* All of them are left out\.$/)
})
