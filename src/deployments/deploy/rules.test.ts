import assert from 'node:assert/strict'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../../test/support/folder.ts'
import type { Plan } from '../../builds/index.ts'
import { compileSiteRules, describeRules, digestOfRules, readProjectRules } from './rules.ts'

const planOf = (kind: 'static' | 'server', basePath = ''): Plan => ({ output: { kind, basePath } }) as Plan

async function folderWith(t: TestContext, files: Record<string, string>): Promise<string> {
  const folder = await temporaryFolder(t)
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(folder, name, '..'), { recursive: true })
    await writeFile(join(folder, name), text)
  }
  return folder
}

test('rules of the project come from its root directory, those of the output from the output', async (t) => {
  const source = await folderWith(t, {
    'netlify.toml': '[[redirects]]\nfrom = "/top"\nto = "/x"',
    'apps/web/netlify.toml': '[[redirects]]\nfrom = "/web"\nto = "/x"',
    'apps/web/_redirects': '/not /read',
  })
  const files = await folderWith(t, { _redirects: '/output /x', 'netlify.toml': '[[redirects]]\nfrom="/no"\nto="/x"' })
  const project = await readProjectRules(source, 'apps/web')
  const { rules, warnings } = await compileSiteRules({ project, files, plan: planOf('static'), allowedHosts: [] })
  assert.deepEqual(
    rules?.redirects.map(({ from }) => from),
    ['/output', '/web'],
  )
  assert.deepEqual(warnings, [])
  assert.equal(describeRules(rules ?? assert.fail()), 'The site has 2 redirects and rewrites and 0 rules for headers.')
})

test('links, also in a folder above, and folders are not read', async (t) => {
  const elsewhere = await folderWith(t, { 'vercel.json': '{"redirects":[{"source":"/a","destination":"/secret"}]}' })
  const source = await folderWith(t, { 'app/index.html': 'x' })
  await symlink(join(elsewhere, 'vercel.json'), join(source, 'app/vercel.json'))
  await mkdir(join(source, 'app/netlify.toml'))
  await symlink(elsewhere, join(source, 'linked'))
  const { texts, warnings } = await readProjectRules(source, 'app')
  assert.deepEqual(texts, {})
  assert.deepEqual(
    warnings.map((warning) => warning.split(':')[0]),
    ['netlify.toml', 'vercel.json'],
  )
  assert.deepEqual(await readProjectRules(source, 'linked'), { texts: {}, warnings: [] })
})

test('the same rules have the same digest, other rules another, and none an empty one', () => {
  const rules = { redirects: [{ from: '/a', to: { path: '/b' }, status: 301 }], headers: [] }
  assert.equal(digestOfRules(rules), digestOfRules(structuredClone(rules)))
  assert.notEqual(digestOfRules(rules), digestOfRules({ ...rules, cleanUrls: true }))
  assert.equal(digestOfRules(undefined), '')
})

test('a warning is one line of visible characters, whatever the files contain', async (t) => {
  const strange = 'x\u001b[31m\u2028\u202e\n'
  const source = await folderWith(t, { 'vercel.json': `{"a": ${strange}`, 'netlify.toml': `a = ${strange}` })
  const files = await folderWith(t, { _redirects: '/a /b \u001b[31mred' })
  const project = await readProjectRules(source, '')
  const { warnings } = await compileSiteRules({ project, files, plan: planOf('static'), allowedHosts: [] })
  assert.equal(warnings.length, 3)
  for (const warning of warnings) assert.doesNotMatch(warning, /[\p{Cc}\p{Cf}\p{Zl}]/u)
})

test('an app with a server has no rules, and is told so if it brings some', async (t) => {
  const files = await folderWith(t, { _redirects: '/a /b' })
  const compile = async (text: string) => {
    const project = await readProjectRules(await folderWith(t, { 'vercel.json': text }), '')
    return compileSiteRules({ project, files, plan: planOf('server'), allowedHosts: [] })
  }
  const told = await compile('{"redirects":[{"source":"/a","destination":"/b"}]}')
  assert.equal(told.rules, undefined)
  assert.match(told.warnings.join('\n'), /^vercel\.json: .* apply to static sites only/)
  assert.deepEqual(await compile('{"crons":[]}'), { rules: undefined, warnings: [] })
})
