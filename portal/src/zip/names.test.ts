import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fold as foldOfService, faultOfName as ofService } from '../../../src/archives/names.ts'
import { holds, NASTY } from '../../../test/support/fuzz.ts'
import { faultOfName, faultOfPath, fold, isLocalSetting, isNeverSent, shown } from './names.ts'

test('packages, history and the notes of file managers are left out, at any depth', () => {
  for (const path of ['node_modules', 'apps/web/node_modules', '.git', 'src/.DS_Store', 'Thumbs.db', '.headland.json'])
    assert.ok(isNeverSent(path), path)
  for (const path of ['src/node_modules.ts', '.github', '.gitignore', '.env', 'my.git', 'apps/.headland.json'])
    assert.ok(!isNeverSent(path), path)
})

test('local settings are every .env, but for those that are made to be shared', () => {
  for (const path of ['.env', '.env.local', '.env.production', 'apps/web/.env.production.local', '.env.', '.ENV.Local'])
    assert.ok(isLocalSetting(path), path)
  for (const path of [
    '.env.example',
    'apps/.env.sample',
    '.env.template',
    '.env.defaults',
    '.environment',
    'my.env',
    'env.ts',
    '.envrc',
    'id_rsa',
    'cert.pem',
    '.env/readme.md',
  ])
    assert.ok(!isLocalSetting(path), path)
})

const name = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom(...NASTY),
  fc.constantFrom('c:', 'C:x', 'a'.repeat(255), 'a'.repeat(256), 'é'.repeat(128), '😀'.repeat(64)),
)
const path = fc.array(name, { minLength: 1, maxLength: 5 }).map((names) => names.join('/'))

test('what the service refuses for its name is refused before it is sent', async () => {
  await holds(
    fc.property(path, (given) => {
      const fault = given.split('/').map(faultOfName).find(Boolean) ?? faultOfPath(given)
      if (ofService(given) !== undefined) assert.ok(fault, `${JSON.stringify(given)}: ${ofService(given)}`)
      else if (fault) assert.match(fault, /not UTF-8|of more than 1024 bytes/, JSON.stringify(given))
    }),
    2000,
  )
  assert.match(faultOfPath('a/'.repeat(129)) ?? '', /128 folders deep/)
  assert.match(faultOfPath('aaaaaaaaa/'.repeat(110)) ?? '', /1024 bytes/)
})

test('two names are the same here exactly where they are to the service', async () => {
  await holds(
    fc.property(path, (given) => assert.equal(fold(given), foldOfService(given))),
    500,
  )
})

test('a name is shown without what turns or hides text, and never at length', async () => {
  assert.equal(shown('a\u202egpj.exe'), 'a\ufffdgpj.exe')
  assert.equal(shown('a\nb\u0000c'), 'a\ufffdb\ufffdc')
  await holds(
    fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (given) => {
      assert.ok(shown(given).length <= 81)
      assert.doesNotMatch(shown(given), /\p{Cc}|\p{Cf}/u)
    }),
    300,
  )
})
