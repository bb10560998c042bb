import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { curlOf, quoted } from './curl.ts'

const ORIGIN = 'http://127.0.0.1:8080'

test('a plain call is one line to read', () => {
  assert.equal(
    curlOf({ path: '/v1/accounts/default/apps' }, ORIGIN),
    'curl -u "$HEADLAND_API_USER:$HEADLAND_API_PASSWORD" \\\n  http://127.0.0.1:8080/v1/accounts/default/apps',
  )
})

test('a body makes it a POST, and a DELETE is given as an option', () => {
  const made = curlOf({ method: 'POST', path: '/v1/x', body: { region: 'regions/UK' } }, ORIGIN)
  assert.match(made, /-d '\{"region":"regions\/UK"\}'/)
  assert.doesNotMatch(made, /-X/)
  assert.match(curlOf({ method: 'DELETE', path: '/v1/x' }, ORIGIN), /-X DELETE/)
  assert.match(curlOf({ method: 'POST', path: '/v1/x' }, ORIGIN), /-X POST/)
  assert.match(curlOf({ method: 'PATCH', path: '/v1/x', body: {} }, ORIGIN), /-X PATCH/)
})

const HOSTILE = [`it's`, `$(reboot)`, '`reboot`', '"; reboot; "', 'a\nb', '\\', '!', '*', '', '-x', '&', `''`, 'ü 日本']

for (const word of HOSTILE) {
  test(`a shell reads ${JSON.stringify(word)} as it was written`, () => {
    const output = execFileSync('/bin/sh', ['-c', `printf %s ${quoted(word)}`], { encoding: 'utf8' })
    assert.equal(output, word)
  })
}

test('a value in the body cannot leave its quotes', () => {
  const body = { displayName: `'; reboot; '$(reboot)` }
  const line = curlOf({ method: 'POST', path: '/v1/x', body }, ORIGIN).replace(/^curl/, `printf '%s\\n'`)
  const output = execFileSync('/bin/sh', ['-c', line], { encoding: 'utf8', env: {} }).split('\n')
  assert.ok(output.includes(JSON.stringify(body)))
})
