import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UsageError } from '../contract/index.ts'
import type { ClientCall } from './command.ts'
import { purge } from './commands/purge.ts'
import { readPairs, readPairsIn } from './commands/variables/variable-pairs.ts'
import { limitOf, makeSure, numberIn } from './options.ts'
import { Interrupted } from './output/terminal.ts'
import { tailIn } from './project/ids.ts'

const ID = '0197a3c4-5b6d-7e8f-9a0b-1c2d3e4f5a6b'

function callOf(given: Partial<ClientCall>, typed?: string): ClientCall {
  const terminal = { isInteractive: typed !== undefined, say: () => undefined, ask: async () => typed }
  return { positionals: [], options: {}, terminal, ...given } as unknown as ClientCall
}

test('an id is taken whole, short or at the end of a whole name, and nothing else is', () => {
  for (const given of [ID, `accounts/a/apps/b/environments/c/builds/${ID}`]) assert.equal(tailIn(given, 'build'), ID)
  assert.equal(tailIn('3e4f5a6b', 'build'), '3e4f5a6b')
  for (const wrong of ['', 'latest', '..', `${ID}/..`, `${ID}?x=1`, '4f5a6b', 'xe4f5a6b', `0${ID}`]) {
    assert.throws(() => tailIn(wrong, 'build'), UsageError, wrong)
  }
})

test('a number is whole and not too small', () => {
  assert.deepEqual([limitOf({}), limitOf({ limit: '7' }), numberIn('0', 'SECONDS', 0)], [20, 7, 0])
  for (const wrong of ['0', '-1', '1.5', '1e3', 'many', '']) assert.throws(() => limitOf({ limit: wrong }), UsageError)
})

test('what cannot be undone is done when the name was typed, or --yes was given', async () => {
  await makeSure(callOf({}, 'shop'), 'It is gone.', 'shop')
  await makeSure(callOf({ options: { yes: true } }), 'It is gone.', 'shop')
  await assert.rejects(makeSure(callOf({}, 'y'), 'It is gone.', 'shop'), Interrupted)
  await assert.rejects(makeSure(callOf({}), 'It is gone.', 'shop'), UsageError)
})

test('an empty word, as a variable of a script may be, does not purge everything', async () => {
  await assert.rejects(purge(callOf({ positionals: [''] })), UsageError)
  await assert.rejects(purge(callOf({ options: { tag: [''] } })), UsageError)
  await assert.rejects(purge(callOf({ positionals: ['news'] })), UsageError)
})

test('of variables that are given twice the later one counts, and a value may hold anything', async () => {
  assert.deepEqual(await readPairs(callOf({}), ['A=1', 'B==x=', 'A=', 'C= two ']), [
    { key: 'A', value: '' },
    { key: 'B', value: '=x=' },
    { key: 'C', value: ' two ' },
  ])
})

test('a variable without a value is asked for at a terminal, and is read once from a pipe', async () => {
  assert.deepEqual(await readPairs(callOf({}, 'hush'), ['A', 'B']), [
    { key: 'A', value: 'hush' },
    { key: 'B', value: 'hush' },
  ])
  await assert.rejects(readPairs(callOf({}), ['A', 'B']), /only one value can be read from stdin/)
})

test('what is no name of a variable is refused before anything is asked or sent', async () => {
  for (const wrong of ['=x', '1A=x', 'A-B=x', 'Ä=x']) await assert.rejects(readPairs(callOf({}), [wrong]), UsageError)
  await assert.rejects(readPairsIn(import.meta.dirname, 'no-such-file'), UsageError)
})
