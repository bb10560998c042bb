import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { isProcessGone, processName } from './process-identity.ts'

test('a living process is not dead', () => {
  assert.equal(isProcessGone(processName()), false)
})

test('a process that was killed is dead, and so is one whose pid belongs to another process now', async () => {
  const child = spawn(process.execPath, [
    '--input-type=module',
    '--eval',
    `import { processName } from ${JSON.stringify(new URL('./process-identity.ts', import.meta.url).href)}
     process.stdout.write(processName()); setInterval(() => {}, 1000)`,
  ])
  const [owner] = await once(child.stdout.setEncoding('utf8'), 'data')
  assert.equal(isProcessGone(owner), false)
  child.kill('SIGKILL')
  await once(child, 'exit')
  assert.equal(isProcessGone(owner), true)

  const [machine, , start, random] = owner.split(' ')
  assert.equal(isProcessGone([machine, process.pid, start, random].join(' ')), true)
})

test('no owner is declared dead that is on another machine, or whose start time is not known', () => {
  const [, pid, start, random] = processName().split(' ')
  assert.equal(isProcessGone(`elsewhere 1 ${start} ${random}`), false)
  assert.equal(isProcessGone(`elsewhere ${pid} unknown ${random}`), false)
  assert.equal(isProcessGone('the dead'), false)
})
