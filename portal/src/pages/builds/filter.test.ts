import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Build } from '../../api/types.ts'
import { isWanted, readFilter, writeFilter } from './filter.ts'

const build = (state: Build['state'], trigger: Build['trigger']) => ({ state, trigger }) as Build
const filterOf = (query: string) => readFilter(new URLSearchParams(query))

test('what the address says is read and written back', () => {
  for (const query of ['', 'state=failed', 'state=running&trigger=clean-rebuild']) {
    assert.equal(new URLSearchParams(writeFilter(filterOf(query))).toString(), query)
  }
})

test('unknown values filter nothing', () => {
  assert.deepEqual(filterOf('state=FAILED&trigger=<script>'), { state: '', trigger: '' })
})

test('a build is shown when it passes both', () => {
  assert.ok(isWanted(build('QUEUED', 'UPLOAD'), filterOf('state=running')))
  assert.ok(isWanted(build('FAILED', 'REBUILD'), filterOf('state=failed&trigger=rebuild')))
  assert.ok(!isWanted(build('FAILED', 'UPLOAD'), filterOf('state=failed&trigger=rebuild')))
  assert.ok(!isWanted(build('SUCCEEDED', 'REBUILD'), filterOf('state=failed&trigger=rebuild')))
  assert.ok(isWanted(build('CANCELLED', 'UPLOAD'), filterOf('')))
})
