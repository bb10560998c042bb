import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { isDead, ownerOfThisProcess } from './owner.ts'

test('a living process is not dead', () => {
  assert.equal(isDead(ownerOfThisProcess()), false)
})

test('a process that was killed is dead, and so is one whose pid belongs to another process now', async () => {
  const child = spawn(process.execPath, [
    '--input-type=module',
    '--eval',
    `import { ownerOfThisProcess } from ${JSON.stringify(new URL('./owner.ts', import.meta.url).href)}
     process.stdout.write(ownerOfThisProcess()); setInterval(() => {}, 1000)`,
  ])
  const [owner] = await once(child.stdout.setEncoding('utf8'), 'data')
  assert.equal(isDead(owner), false)
  child.kill('SIGKILL')
  await once(child, 'exit')
  assert.equal(isDead(owner), true)

  const [machine, , start, random] = owner.split(' ')
  assert.equal(isDead([machine, process.pid, start, random].join(' ')), true)
})

test('no owner is declared dead that is on another machine, or whose start time is not known', () => {
  const [, pid, start, random] = ownerOfThisProcess().split(' ')
  assert.equal(isDead(`elsewhere 1 ${start} ${random}`), false)
  assert.equal(isDead(`elsewhere ${pid} unknown ${random}`), false)
  assert.equal(isDead('the dead'), false)
})
