import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { at, headland } from './headland.ts'
import { placeOf } from './names.ts'

test('a command names what it is about, and a shell takes each word as it is', () => {
  const place = placeOf('default', 'blog', '01a1')
  assert.equal(
    headland(['deploy'], at(place, 'Production')),
    'headland deploy --account default --app blog --env Production',
  )
  assert.equal(headland(['rebuild'], at(place)), 'headland rebuild --account default --app blog --env 01a1')
  assert.equal(
    headland(['envs', 'create', `It's "new" $(x)`], { cms: undefined }),
    `headland envs create 'It'\\''s "new" $(x)'`,
  )
})

test('every command that the portal shows is one of the command line', () => {
  const reference = readFileSync(new URL('../../../docs/reference/commands.md', import.meta.url), 'utf8')
  const pages = readdirSync(new URL('../', import.meta.url), { recursive: true, withFileTypes: true })
    .filter(({ name }) => name.endsWith('.tsx'))
    .map(({ parentPath, name }) => readFileSync(`${parentPath}/${name}`, 'utf8'))
  const shown = pages.flatMap((text) =>
    [...text.matchAll(/headland\(\[((?:'[a-z]+'(?:, )?)+)/g)].map(([, words = '']) => words),
  )
  assert.ok(shown.length >= 10)
  for (const words of shown) {
    const command = words.replaceAll(/[',]/g, '').trim()
    assert.match(reference, new RegExp(`^### \`headland ${command}\\b`, 'm'), command)
  }
})

test('a name that begins with a hyphen is no option', () => {
  assert.equal(headland(['envs', 'create', '-rf'], { app: '-x' }), 'headland envs create --app=-x -- -rf')
  assert.equal(headland(['envs', 'create', 'a'], { cms: '' }), `headland envs create a --cms=''`)
})
