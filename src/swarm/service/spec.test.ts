import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { desiredApp } from '../../../test/support/swarm/desired.ts'
import { LAUNCH, portText, variableParts } from './launch.ts'
import { specOf } from './spec.ts'

const APP = desiredApp({ deployment: 'd1', environment: 'e1', account: 'a1', replicas: 2, writable: ['/app/cache'] })
const OPTIONS = { cluster: 'test', secrets: [{ id: 's1', name: 'hl-test-d1-1-0' }] }

test('the same app is the same service', () => {
  assert.deepEqual(specOf(APP, OPTIONS), specOf({ ...APP }, OPTIONS))
})

test('a service has no variable, and names the secrets that have them', () => {
  const { TaskTemplate: task } = specOf(APP, OPTIONS)
  assert.equal('Env' in task.ContainerSpec, false)
  assert.deepEqual(task.ContainerSpec.Secrets, [
    {
      SecretID: 's1',
      SecretName: 'hl-test-d1-1-0',
      File: { Name: 'headland', UID: '10001', GID: '10001', Mode: 0o400 },
    },
  ])
})

test('an app has no privilege, no writable file on the disk, and limits for everything', () => {
  const { TaskTemplate: task, Mode: mode } = specOf(APP, OPTIONS)
  const { ContainerSpec: container } = task
  assert.equal(container.User, '10001:10001')
  assert.equal(container.ReadOnly, true)
  assert.deepEqual(container.CapabilityDrop, ['ALL'])
  assert.equal(container.Privileges?.NoNewPrivileges, true)
  assert.equal(container.Privileges?.Seccomp.Mode, 'custom')
  assert.deepEqual(
    container.Mounts?.map(({ Type, Target }) => [Type, Target]),
    [
      ['tmpfs', '/tmp'],
      ['tmpfs', '/app/cache'],
    ],
  )
  assert.deepEqual(task.Resources?.Limits, { MemoryBytes: APP.memoryBytes, NanoCPUs: APP.nanoCpus, Pids: APP.pids })
  assert.deepEqual(task.Placement?.Constraints, ['node.labels.region==EU-W'])
  assert.deepEqual(mode, { Replicated: { Replicas: 2 } })
})

for (const [what, change] of Object.entries({
  'an image without a digest': { image: 'registry/app:latest' },
  'a region that is another constraint': { region: 'EU-W || true' },
  'less than no replica': { replicas: -1 },
  'too many replicas': { replicas: 1_000_000 },
  'no program': { command: [] },
  'a program that env takes for a variable': { command: ['A=1'] },
  'no limit of memory': { memoryBytes: 0 },
  'no limit of processes': { pids: 0 },
  root: { user: { uid: 0, gid: 0 } },
  'a writable folder that is none': { writable: ['/app/../etc'] },
  'an id that is none': { deployment: '../x' },
  'a name that is too long': { deployment: 'x'.repeat(64) },
}))
  test(`${what} is refused`, () => {
    assert.throws(() => specOf({ ...APP, ...change }, OPTIONS))
  })

/** What a program sees that the shell of this machine starts with these variables. */
async function seenBy(folder: string, variables: Record<string, string>): Promise<Record<string, string>> {
  const parts = variableParts(variables)
  const files = parts.map((_, part) => join(folder, part === 0 ? 'headland' : `headland.${part}`))
  for (const [part, text] of parts.entries())
    await writeFile(files[part] ?? '', text.toString().replaceAll('/run/secrets/', `${folder}/`))
  const program = [process.execPath, '-e', 'process.stdout.write(JSON.stringify(process.env))']
  const { stdout } = await promisify(execFile)(
    '/bin/sh',
    ['-c', LAUNCH, files[0] ?? '', portText(3000), '--', ...program],
    {
      env: { PATH: '/usr/bin:/bin' },
      maxBuffer: 2 ** 24,
    },
  )
  return JSON.parse(stdout)
}

test('variables reach the program as they are, whatever is in them', async (t) => {
  const every = Array.from({ length: 0x250 }, (_, code) => String.fromCharCode(code + 1)).join('')
  const variables = {
    EVERY: every,
    QUOTES: `'"'"'\\'$(exit 1)\`exit 1\`$HOME\n`,
    EMPTY: '',
    OPTIND: 'x',
    UID: '0',
    IFS: 'a',
    PPID: 'b',
    f: '1',
    LANGUAGE: '日本語 – Ångström',
  }
  const seen = await seenBy(await temporaryFolder(t), variables)
  for (const [name, value] of Object.entries(variables)) assert.equal(seen[name], value, name)
})

test('as many and as long variables as an environment can have reach the program, in secrets that Docker takes', async (t) => {
  const variables = Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`V${at}`, "'".repeat(64 * 1024 - 10)]))
  const parts = variableParts(variables)
  assert.ok(parts.length > 1 && parts.every(({ byteLength }) => byteLength < 500 * 1000))
  const seen = await seenBy(await temporaryFolder(t), variables)
  for (const [name, value] of Object.entries(variables)) assert.equal(seen[name], value, name)
})

test('names and values that no program can have are refused', () => {
  for (const name of ['', '1A', 'A-B', 'A B', 'A=B', 'A;B', 'A'.repeat(129)])
    assert.throws(() => variableParts({ [name]: 'x' }), /not the name/)
  assert.throws(() => variableParts({ A: 'a\0b' }), /cannot be given/)
  assert.throws(() => variableParts({ A: 'a'.repeat(65 * 1024) }), /cannot be given/)
})
