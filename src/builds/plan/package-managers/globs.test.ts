import assert from 'node:assert/strict'
import { test } from 'node:test'
import { areUnderstood, matchesGlobs } from './globs.ts'

const CASES: [globs: string[], folder: string, isIn: boolean][] = [
  [['apps/*'], 'apps/web', true],
  [['apps/*'], 'apps/web/inner', false],
  [['apps/*'], 'apps', false],
  [['apps/**'], 'apps/web/inner', true],
  [['apps/**'], 'apps', true],
  [['**'], 'a/b/c', true],
  [['**/web'], 'a/b/web', true],
  [['**/web'], 'web', true],
  [['a/**/web'], 'a/web', true],
  [['./apps/*/'], 'apps/web', true],
  [['apps/web'], 'apps/web', true],
  [['apps/we?'], 'apps/web', true],
  [['apps/w*b'], 'apps/web', true],
  [['apps/w*b*'], 'apps/wbbb', true],
  [['apps/w*x'], 'apps/web', false],
  [['packages/@acme/*'], 'packages/@acme/ui', true],
  [['{apps,packages}/*'], 'packages/ui', true],
  [['{a,b}/{c,d}'], 'b/d', true],
  [['apps/*', '!apps/web'], 'apps/web', false],
  [['!apps/web', 'apps/*'], 'apps/web', false],
  [['apps/*'], 'apps/.hidden', false],
  [[], 'apps/web', false],
  [[''], 'apps', false],
]

for (const [globs, folder, isIn] of CASES) {
  test(`${folder} is ${isIn ? '' : 'not '}one of ${JSON.stringify(globs)}`, () => {
    assert.equal(matchesGlobs(globs, folder), isIn)
  })
}

test('globs that other tools read otherwise are known as such', () => {
  assert.equal(areUnderstood(['apps/*', '{a,b}/*', '!x/**', 'packages/@acme/*']), true)
  for (const glob of ['+(a|b)/*', 'a/[bc]', '{a,{b,c}}/{d,e}/{f,g}', 'x'.repeat(300)])
    assert.equal(areUnderstood([glob]), false, glob)
})

test('globs that are made to be slow are read quickly', () => {
  const slow = [`${'**/'.repeat(60)}x`, `${'*a'.repeat(90)}b`, '{a,b}'.repeat(30), '{'.repeat(150), '?*'.repeat(90)]
  const folder = Array.from({ length: 400 }, () => 'a'.repeat(50)).join('/')
  for (let round = 0; round < 5; round += 1)
    for (const glob of slow) assert.equal(matchesGlobs(Array(20).fill(glob), folder), false)
})
