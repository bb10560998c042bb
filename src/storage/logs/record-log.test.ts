import assert from 'node:assert/strict'
import { appendFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { NAME, numbered, recordLogsSuite, setUpRecords } from '../../../test/suites/record-logs.ts'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { createLineLogs } from './line-log.ts'

const PARTS = { 'e1.log': 'newer', 'e1.older.log': 'older' } as const

async function open(t: TestContext) {
  const folder = await temporaryFolder(t)
  async function parts() {
    const names = (await readdir(join(folder, 'requests'))) as (keyof typeof PARTS)[]
    return names.toSorted().map((file) => PARTS[file])
  }
  return { folder, logs: createLineLogs(folder), parts }
}

recordLogsSuite('files', open)

test('a line that was cut off is left out, and the next writer begins a new one', async (t) => {
  const { folder, ...opened } = await open(t)
  const { write, backwards } = await setUpRecords(opened)
  await write(numbered(2))
  await appendFile(join(folder, `${NAME}.log`), '{"number":99,"time":1,"te')
  assert.deepEqual(
    (await backwards()).map(({ text }) => text),
    ['line 1 é ', 'line 0 é '],
  )
  await write([{ text: 'after' }])
  assert.deepEqual(
    (await backwards()).map(({ text }) => text),
    ['after', 'line 1 é ', 'line 0 é '],
  )
})
