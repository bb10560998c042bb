import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { pidNamespace, startTimeOf } from './process-identity.ts'

const skip = process.platform !== 'linux'

test('a process keeps its start time, and one that was started later has another', { skip }, async () => {
  const own = startTimeOf(process.pid)
  assert.match(own ?? '', /^\d+$/)
  assert.equal(startTimeOf(process.pid), own)
  const child = spawn('sleep', ['60'])
  await once(child, 'spawn')
  assert.ok(Number(startTimeOf(child.pid ?? 0)) > Number(own))
  child.kill()
  await once(child, 'exit')
  assert.equal(startTimeOf(child.pid ?? 0), undefined, 'a process that is gone has none')
})

test('brackets and blanks in the name of a program do not shift the fields', { skip }, () => {
  const { title } = process
  const own = startTimeOf(process.pid)
  process.title = 'a) Z (b) '
  assert.equal(startTimeOf(process.pid), own)
  process.title = title
})

test('the namespace of process ids is a number', { skip }, () => {
  assert.match(pidNamespace() ?? '', /^\d+$/)
})
