import assert from 'node:assert/strict'
import { appendFile, mkdir, readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { lineLogsSuite } from '../../../test/suites/line-logs.ts'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { createLineLogs, type LineLogOptions } from './line-log.ts'

lineLogsSuite('files', {
  open: async (t) => createLineLogs(await temporaryFolder(t)),
  async openUnwritable(t) {
    const folder = await temporaryFolder(t)
    await symlink(join(folder, 'later', 'build.log'), join(folder, 'build.log'))
    return { logs: createLineLogs(folder), mend: () => mkdir(join(folder, 'later')) }
  },
})

const OPTIONS: LineLogOptions = { secrets: [], whenFull: 'stop', maxBytes: 1_000_000 }

const textsOf = (lines: { text: string }[]): string[] => lines.map(({ text }) => text)

test('a line that a dying process wrote by half does not spoil the next one', async (t) => {
  const folder = await temporaryFolder(t)
  const logs = createLineLogs(folder)
  const before = await logs.create('build', OPTIONS)
  before.say('', 'one')
  await before.close()
  await appendFile(join(folder, 'build.log'), '{"number":2,"ti')
  const after = await logs.create('build', OPTIONS)
  after.say('', 'two')
  await after.close()
  assert.deepEqual(textsOf(await logs.read('build', 0)), ['one', 'two'])
})

test('the bytes of a log are those of its files', async (t) => {
  const folder = await temporaryFolder(t)
  const logs = createLineLogs(folder)
  const log = await logs.create('runtime/a', { ...OPTIONS, whenFull: 'rotate', maxBytes: 200 })
  for (const text of ['one', 'two', 'three']) {
    log.say('', text)
    await log.linesAfter(0)
  }
  await log.close()
  const files = await Promise.all(['a.log', 'a.older.log'].map((file) => readFile(join(folder, 'runtime', file))))
  assert.equal(
    await logs.bytesOf('runtime/a'),
    files.reduce((sum, { length }) => sum + length, 0),
  )
})
