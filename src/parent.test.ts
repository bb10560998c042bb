import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { startersOf } from './config.ts'
import { lineageOf, parentGone } from './parent.ts'

/** Time passes without waiting. */
const clock = { now: () => 0, sleep: () => new Promise<void>((resolve) => setImmediate(resolve)) }

test('npm and the launcher are recognised by the environment; systemd, containers and shells set none of their variables', () => {
  assert.deepEqual(startersOf({ PATH: '/bin', INVOCATION_ID: 'x' }), { npm: false, launcher: undefined })
  assert.deepEqual(startersOf({ npm_lifecycle_event: 'start' }), { npm: true, launcher: undefined })
  assert.deepEqual(startersOf({ HEADLAND_LAUNCHER: '12' }), { npm: false, launcher: 12 })
})

test('a process that neither npm nor the launcher started does not end with its parent', async () => {
  assert.deepEqual(lineageOf({ npm: false, launcher: undefined }), [])
  const never = parentGone({ npm: false, launcher: undefined }, { clock }).then(() => 'gone')
  for (let turns = 0; turns < 100; turns++) await clock.sleep()
  assert.equal(await Promise.race([never, clock.sleep().then(() => 'there')]), 'there')
})

test('the parent is gone when its process id changes, or that of the parent of the shell in between', async () => {
  for (const later of [[1, 20], [10, 1], [1]]) {
    const seen = [[10, 20], [10, 20], [10, 20], later]
    let asked = 0
    await parentGone({ npm: true, launcher: undefined }, { clock, lineage: () => seen[asked++] ?? later })
    assert.equal(asked, seen.length)
  }
})

test('a launcher that ended before the first check is gone', async () => {
  await parentGone({ npm: false, launcher: 10 }, { clock, lineage: () => [1] })
})

test('checks end when the signal is aborted', async () => {
  const over = new AbortController()
  let asked = 0
  const lineage = () => {
    if (++asked === 5) over.abort()
    return [10]
  }
  await parentGone({ npm: true, launcher: undefined }, { clock, lineage, signal: over.signal })
  assert.equal(asked, 5)
})

test('the process that started a shell with one command counts as a parent, too', async () => {
  const module = new URL('./parent.ts', import.meta.url)
  const program = `import(${JSON.stringify(module)}).then(({ lineageOf }) => {
    console.log(JSON.stringify(lineageOf({ npm: true, launcher: undefined })))
  })`
  // The second command keeps the shell from becoming the first.
  const script = '"$0" -e "$1"; echo "$$"'
  const { stdout } = await promisify(execFile)('sh', ['-c', script, process.execPath, program])
  const [lineage = '', shell] = stdout.trim().split('\n')
  assert.deepEqual(JSON.parse(lineage), [Number(shell), process.pid])
})
