import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'

/** A process that says when an object of its start is gone. Without a collection it stays, as nothing more is allocated. */
const PROGRAM = `
  import { freeAfterStart } from ${JSON.stringify(new URL('./memory.ts', import.meta.url).href)}
  const left = new FinalizationRegistry((what) => process.stdout.write(what))
  const start = () => left.register({}, 'freed')
  start()
  freeAfterStart()
  setInterval(() => {}, 1000)`

test('an idle process frees what its start left behind', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM])
  try {
    const [output] = await once(child.stdout.setEncoding('utf8'), 'data')
    assert.equal(output, 'freed')
  } finally {
    child.kill('SIGKILL')
  }
})
