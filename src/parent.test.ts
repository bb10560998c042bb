import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { startersOf } from './config.ts'
import { lineageOf, parentGone } from './parent.ts'

/** As if the hands of the clock did not stop. */
const clock = { now: () => 0, sleep: () => new Promise<void>((resolve) => setImmediate(resolve)) }

test('npm and the launcher are told by the environment; systemd, containers and shells set nothing of theirs', () => {
  assert.deepEqual(startersOf({ PATH: '/bin', INVOCATION_ID: 'x' }), { npm: false, launcher: undefined })
  assert.deepEqual(startersOf({ npm_lifecycle_event: 'start' }), { npm: true, launcher: undefined })
  assert.deepEqual(startersOf({ HEADLAND_LAUNCHER: '12' }), { npm: false, launcher: 12 })
})

test('a process that neither started has no parent that it ends with', async () => {
  assert.deepEqual(lineageOf({ npm: false, launcher: undefined }), [])
  const never = parentGone({ npm: false, launcher: undefined }, { clock }).then(() => 'gone')
  for (let turns = 0; turns < 100; turns++) await clock.sleep()
  assert.equal(await Promise.race([never, clock.sleep().then(() => 'there')]), 'there')
})

test('it is over when the parent is another one, or the parent of the shell in between', async () => {
  for (const later of [[1, 20], [10, 1], [1]]) {
    const seen = [[10, 20], [10, 20], [10, 20], later]
    let asked = 0
    await parentGone({ npm: true, launcher: undefined }, { clock, lineage: () => seen[asked++] ?? later })
    assert.equal(asked, seen.length)
  }
})

test('a launcher that went before anybody looked is gone', async () => {
  await parentGone({ npm: false, launcher: 10 }, { clock, lineage: () => [1] })
})

test('nobody looks any longer after the end', async () => {
  const over = new AbortController()
  let asked = 0
  const lineage = () => {
    if (++asked === 5) over.abort()
    return [10]
  }
  await parentGone({ npm: true, launcher: undefined }, { clock, lineage, signal: over.signal })
  assert.equal(asked, 5)
})

test('behind a shell that runs one command stands the process that started the shell', async () => {
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
