import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { HELP, helpFor, isHelp } from './help.ts'

const TOP = new URL('../../', import.meta.url)

test('every page that help leads to is there', () => {
  for (const [, help] of HELP) {
    const isThere = [`.${help}.md`, `.${help}/README.md`].some((file) => existsSync(new URL(file, TOP)))
    assert.ok(isThere, help)
  }
})

test('help is about the page that is open', () => {
  const environment = '/default/apps/blog/environments/01a1'
  assert.equal(helpFor(`${environment}/settings/webhooks`), '/docs/guides/webhooks')
  assert.equal(helpFor(environment), '/docs/guides/deploy')
  assert.equal(helpFor(`${environment}/builds/0199`), '/docs/troubleshooting')
  assert.equal(helpFor('/default/usage'), '/docs/reference/limits')
  assert.equal(helpFor('/default/users'), '/docs/')
  assert.equal(helpFor('/me'), '/docs/')
})

test('an answer cannot lead help elsewhere', () => {
  assert.ok(isHelp('/docs/reference/errors#FIELD_INVALID'))
  for (const address of [
    'https://evil.test/docs/',
    '//evil.test/docs/x',
    'data:text/html,x',
    '/docs/../v1/x',
    '/docs/"x',
    '/v1/x',
    7,
    undefined,
  ])
    assert.ok(!isHelp(address), String(address))
})
